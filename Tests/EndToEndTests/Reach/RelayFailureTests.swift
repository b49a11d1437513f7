import FoundationEssentials
import TestSupport
import Testing

extension Reach {
    /// STUN and TURN servers that are dead or refuse: people are told, and nobody waits for them.
    @Suite struct RelayFailureTests {
        private static let address = Network.viewerAddress
        /// Of the network, and nobody's: what goes there is lost.
        private static let nobody = "10.99.0.77"

        private static func count(_ text: String, in sender: Subprocess) -> Int {
            sender.errorOutput.split(separator: "\n").count { $0.contains(text) }
        }

        /// The page, standard error, the events and the status say that the relay does not take the login.
        @Test func aWrongPasswordIsTold() throws {
            let network = try Network()
            let relay = try Relay(network.atViewer, at: Self.address)
            let folder = try TemporaryDirectory(of: .shared)
            let web = try WebBroadcast(
                over: network,
                ["--turn", "u:wrong@\(Self.address)", "--relay-only", "--events", folder.file("events")]
            )
            let sentence = "the TURN server turn:\(Self.address):3478 refuses the login: check --turn and its password"
            try wait(until: "it is told: \(web.sender.errorOutput)") {
                Self.count("oriel: \(sentence)", in: web.sender) == 1
            }
            let browser = try web.open(.chromium)
            try browser.wait(forState: "no_relay")
            try wait(until: "who was turned away is told: \(web.sender.errorOutput)") {
                Self.count("was turned away: media goes by TURN servers alone", in: web.sender) > 0
            }
            #expect(Self.count(sentence, in: web.sender) == 1, "\(web.sender.errorOutput)")
            func events(with text: String) throws -> Int {
                try String(contentsOfFile: folder.file("events"), encoding: .utf8).split(separator: "\n")
                    .count { $0.contains(text) }
            }
            try wait(until: "programs are told") { try events(with: "\"reason\":\"no_relay\"") == 1 }
            #expect(try events(with: "\"state\":\"wrong_login\"") == 1)
            #expect(try web.broadcast.run("status").output.contains(sentence))
            #expect(try web.broadcast.run("status", "--json").output.contains("wrong_login"))
            withExtendedLifetime(relay) {}
        }

        /// The page comes in by itself once the relay does.
        @Test func aRelayThatIsDeadIsTriedAgain() throws {
            let network = try Network()
            let web = try WebBroadcast(over: network, "--turn", "u:p@\(Self.address)", "--relay-only")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "no_relay")
            try wait(until: "it is told: \(web.sender.errorOutput)") {
                Self.count("the TURN server turn:\(Self.address):3478 does not answer", in: web.sender) == 1
            }
            let relay = try Relay(network.atViewer, at: Self.address)
            try browser.wait(forState: "live")
            try wait(until: "that is told: \(web.sender.errorOutput)") {
                Self.count("the TURN server turn:\(Self.address):3478 works again", in: web.sender) == 1
            }
            withExtendedLifetime(relay) {}
        }

        /// Beside a good path, in the page and in a player that takes no candidates later.
        @Test func deadServersHoldUpNobody() throws {
            let web = try WebBroadcast(
                over: nil,
                ["--stun", Self.nobody, "--turn", "u:p@\(Self.nobody)?transport=tcp"]
            )
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            for server in [
                "STUN server stun:\(Self.nobody):3478", "TURN server turn:\(Self.nobody):3478?transport=tcp",
            ] {
                try wait(until: "\(server) is told of: \(web.sender.errorOutput)") {
                    Self.count("the \(server) does not answer", in: web.sender) == 1
                }
            }
            #expect(try web.view(.wrtc, "--frames", "1").frames >= 1)
        }
    }
}
