import Testing

@testable import WebRTC

@Suite struct ICEAgentTests {
    @Test(arguments: [
        ("192.0.2.1", true), ("127.0.0.1", true), ("2001:db8::1", true), ("::1", true), ("fe80::1", true),
        ("0.0.0.0", false), ("0.1.2.3", false), ("224.0.0.1", false), ("239.255.255.250", false),
        ("255.255.255.255", false), ("::", false), ("ff02::1", false), ("::ffff:224.0.0.1", false),
        ("::ffff:192.0.2.1", false), ("4a0e0c5c-0b0b.local", false), ("", false),
    ])
    func onlyAddressesOfOneMachineAreTried(address: String, isTried: Bool) {
        var candidate = Candidate(foundation: "1", priority: 1, address: address, port: 9, kind: .host)
        #expect(ICEAgent.canTry(candidate) == isTried)
        candidate.port = 0
        #expect(!ICEAgent.canTry(candidate))
        candidate.port = 9
        candidate.transport = "tcp"
        #expect(!ICEAgent.canTry(candidate))
    }
}
