import Posix
import Testing
import WebRTC

@testable import ICE

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

    /// Some servers make a pattern of them, in which "+" and "/" stand for something else.
    @Test func credentialsAreLettersAndDigitsInEachGeneration() throws {
        let loop = ICELoop()
        var agent = ICEAgent(in: loop, .init(addresses: ["127.0.0.1"]), isControlling: true) { _ in }
        var passwords: Set<String> = []
        for _ in 0..<40 {
            let credentials = try #require(agent?.credentials)
            let characters = credentials.fragment + credentials.password
            #expect(characters.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) }, "\(characters)")
            // Of 62 characters each, for 24 and 128 bits (RFC 8445 §5.3).
            #expect(credentials.fragment.utf8.count >= 5 && credentials.password.utf8.count >= 22)
            passwords.insert(credentials.password)
            agent?.restart()
        }
        #expect(passwords.count == 40)
        agent = nil
        loop.finish(from: MonotonicClock.now())
    }
}
