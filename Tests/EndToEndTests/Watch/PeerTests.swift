import Glibc
import TestSupport
import Testing

/// Viewers by other WebRTC stacks than the browsers'.
extension Watch {
    @Suite struct PeerTests {
        struct Case: Sendable, CustomTestStringConvertible {
            let stack: Counterparts.Stack
            let codec: String
            /// What the viewer offers, and what the answer to that must be.
            let setup: (offered: String, answered: String)

            var testDescription: String { "\(stack.rawValue) \(codec) \(setup.offered)" }
        }

        static let cases: [Case] = Counterparts.Stack.allCases.flatMap { stack in
            stack.codecs.flatMap { codec in
                [("actpass", "active"), ("active", "passive")].map { setup in
                    Case(stack: stack, codec: codec, setup: (setup.0, setup.1))
                }
            }
        }

        @Test func everyStackPlays() throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            for test in Self.cases {
                let report = try web.view(
                    test.stack,
                    "--codec",
                    test.codec,
                    "--setup",
                    test.setup.offered,
                    "--frames",
                    "30",
                    "--seconds",
                    "300"
                )
                #expect(report.error == nil, "\(test.testDescription)")
                // A decoder that gets little time leaves out most of what it was sent.
                #expect(report.frames >= 5, "\(test.testDescription)")
                #expect(report.codec == test.codec)
                #expect(report.setupAnswer == test.setup.answered, "\(test.testDescription)")
                #expect(report.width == 1280 && report.height == 720, "\(test.testDescription)")
                #expect(
                    report.deleted == 200,
                    "\(test.testDescription), \(report.frames) frames: \(web.sender.errorOutput)"
                )
            }
            try wait(until: "nobody is left") {
                !(try web.broadcast.run("status", "--json").output.contains("\"address\""))
            }
            counter.stop()
        }

        @Test func aViewerWithoutCandidatesIsFound() throws {
            let web = try WebBroadcast()
            let report = try web.view(.wrtc, "--no-candidates", "--frames", "1", "--seconds", "300")
            #expect(report.frames >= 1)
        }

        /// UDP passes between the two only by a relay.
        @Test func aRelayServesWhoeverCannotBeReached() throws {
            let web = try WebBroadcast("--turn", "u:p@\(Network.senderAddress)")
            try web.network.blockUDP(exceptPort: 3478)
            let relay = try Relay(web.network.atSender, at: Network.senderAddress)
            let without = try web.view(.wrtc, "--seconds", "8", "--frames", "1")
            #expect(!without.connected)
            let with = try web.view(
                .wrtc,
                "--turn",
                "\(Network.senderAddress):3478",
                "--turn-user",
                "u",
                "--turn-password",
                "p",
                "--relay-only",
                "--seconds",
                "300",
                "--frames",
                "30"
            )
            #expect(with.frames >= 1, "\(with) \(relay.output)")
            #expect(with.pair?.contains("relay") == true)
            // The page learns of the relay with the answer.
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            #expect(try browser.statistic("localCandidate").contains("relay"))
            _ = consume relay
        }

        /// Consent lasts for 30 s (RFC 7675 §5.1): nobody need come again for less.
        @Test func anOutageOfSecondsEndsNothing() throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let viewer = try Counterparts.viewer(
                .pion,
                of: web.whep,
                token: WebBroadcast.token,
                in: web.network,
                ["--frames", "150", "--seconds", "300"]
            )
            try web.sender.wait(until: "the viewer is there") { web.sender.errorOutput.contains("looks in") }
            try web.network.loseFromSender(perThousand: 999)
            sleep(12)
            try web.network.loseFromSender(perThousand: 0)
            // More than came before.
            #expect(try Counterparts.report(viewer).frames >= 150)
            #expect(web.sender.errorOutput.split(separator: "\n").count { $0.contains("viewer ") } <= 2)
            #expect(!web.sender.errorOutput.contains("out of reach"))
            counter.stop()
        }

        @Test func aWrongTokenGetsNothing() throws {
            let web = try WebBroadcast()
            let report = try Counterparts.report(
                Counterparts.viewer(.pion, of: web.whep, token: "wrong", in: web.network)
            )
            #expect(report.status == 401)
            #expect(!report.connected)
        }
    }
}

extension Counterparts.Stack {
    fileprivate var codecs: [String] {
        switch self {
        case .wrtc: ["VP8", "VP9", "AV1"]
        case .aiortc: ["VP8"]
        case .gstreamer, .pion: ["VP8", "VP9"]
        }
    }
}
