import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Reach {
    /// A sender that reaches a media server by coturn alone, as no UDP passes between the two.
    @Suite struct RelayTests {
        private static let address = Network.viewerAddress
        private static let secret = "north"

        private final class Scene {
            let whip: WHIPScene
            let folder: TemporaryDirectory
            let certificate: String
            private let relay: Relay

            /// - Parameter arguments: of the WHIP server.
            init(over family: Network.Family = .ipv4, usesSecret: Bool = false, _ arguments: [String] = []) throws {
                whip = try WHIPScene(over: Network(family), arguments: arguments)
                folder = try TemporaryDirectory(of: .shared)
                let address = family == .ipv4 ? RelayTests.address : Network.viewerAddress6
                let files = try makeCertificate(for: [address], in: folder)
                certificate = files.certificate
                relay = try Relay(
                    whip.network.atViewer,
                    at: address,
                    secret: usesSecret ? RelayTests.secret : nil,
                    tls: files,
                    // libnice asks for no family of address (RFC 8656 §14.6): that would be IPv4.
                    family == .ipv4 ? [] : ["--allocation-default-address-family", "keep"]
                )
            }
        }

        @Test(
            arguments: ["u:p@RELAY", "u:p@RELAY?transport=tcp", "turns:u:p@RELAY"],
            [Network.Family.ipv4, .ipv6]
        )
        func theRelayIsReached(form: String, over family: Network.Family) throws {
            let scene = try Scene(over: family)
            try scene.whip.network.blockUDP(exceptPort: form == "u:p@RELAY" ? 3478 : nil)
            let turn = form.replacing("RELAY", with: scene.whip.network.viewerHost)
            let sender = try scene.whip.attach(arguments: [
                "--turn", turn, "--trust", scene.certificate, "--relay-only",
            ])
            try scene.whip.waitForPicture(sender)
            // Nothing tells where the sender is.
            let candidates = try scene.whip.report.candidates
            let nobody = family == .ipv4 ? "0.0.0.0" : "::"
            #expect(
                !candidates.isEmpty && candidates.allSatisfy { $0.hasSuffix("typ relay raddr \(nobody) rport 9") },
                "\(candidates)"
            )
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        /// Logins are made of a secret that the two share.
        @Test func aSecretLetsIn() throws {
            let scene = try Scene(usesSecret: true)
            try scene.whip.network.blockUDP(exceptPort: 3478)
            let file = scene.folder.file("secret")
            try Data("\(Self.secret)\n".utf8).write(to: URL(filePath: file))
            chmod(file, 0o644)
            let sender = try scene.whip.attach(arguments: ["--turn", Self.address, "--turn-secret-file", file])
            try scene.whip.waitForPicture(sender)
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            let other = try scene.whip.attach(arguments: ["--turn", Self.address])
            try #expect(other.wait() == .code(64))
            #expect(other.errorOutput.contains("has no login"), "\(other.errorOutput)")
        }

        /// The way from the new network leads by the relay alone.
        @Test func aSenderThatMovesFindsTheRelay() throws {
            let scene = try Scene()
            let counter = try draw("counter", on: scene.whip.display, "--fps", "30")
            let sender = try scene.whip.attach(arguments: ["--turn", "u:p@\(Self.address)"])
            try scene.whip.waitForPicture(sender)
            try scene.whip.network.blockUDP(exceptPort: 3478)
            try scene.whip.network.moveSender(to: "10.99.0.7")
            let before = try scene.whip.report.frames
            try wait(until: "pictures flow: \(sender.errorOutput)") { try scene.whip.report.frames > before + 60 }
            #expect(try scene.whip.report.posts == 1)
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        private static func link(_ scheme: String = "turn", port: Int, transport: String) -> String {
            "<\(scheme):\(address):\(port)?transport=\(transport)>; rel=\"ice-server\"; username=\"u\"; credential=\"p\""
        }

        /// No UDP passes but to the relay, which the server names; it is told of what that gives, where it takes that.
        @Test(
            arguments: [
                (link(port: 3478, transport: "udp"), 3478, []), (link(port: 3478, transport: "tcp"), nil, []),
                (link("turns", port: 5349, transport: "tcp"), nil, []),
                (link(port: 3478, transport: "udp"), 3478, ["--without", "PATCH"]),
                (link(port: 3478, transport: "udp"), 3478, ["--without", "tag"]),
            ] as [(String, Int?, [String])]
        )
        func aRelayThatTheServerNamesIsUsed(link: String, port: Int?, arguments: [String]) throws {
            let stun = "<stun:\(Self.address)>; rel=\"ice-server\", <stuns:h>; rel=\"ice-server\""
            let scene = try Scene(["--link", stun, "--link", link] + arguments)
            try scene.whip.network.blockUDP(exceptPort: port)
            let isTold = arguments.isEmpty
            var report = try scene.whip.report
            // A sender tells after two seconds of what there is: without the relay, if that is slow.
            try measure("the relay is told of: \(report)") {
                let before = report
                let sender = try scene.whip.attach(arguments: ["--trust", scene.certificate])
                try scene.whip.waitForPicture(sender)
                if isTold {
                    try wait(until: "something is told") { try scene.whip.report.trickled > before.trickled }
                }
                report = try scene.whip.report
                let hasRelay = report.candidates.contains { $0.contains("typ relay") }
                #expect(report.posts == before.posts + 1, "\(sender.errorOutput)")
                #expect(report.trickled == before.trickled + (isTold ? 1 : 0) && (isTold || !hasRelay), "\(report)")
                #expect(sender.errorOutput.contains("names relays that cannot be used: one by stuns\n"))
                sender.kill(SIGTERM)
                try #expect(sender.wait() == .code(0))
                return hasRelay || !isTold
            }
        }

        /// Then others learn nothing: the relays are those that the user has named.
        @Test func withRelaysAloneNoOtherIsUsed() throws {
            let scene = try Scene(["--link", Self.link(port: 3479, transport: "udp")])
            try scene.whip.network.blockUDP(exceptPort: 3478)
            let sender = try scene.whip.attach(arguments: ["--turn", "u:p@\(Self.address)", "--relay-only"])
            try scene.whip.waitForPicture(sender)
            let report = try scene.whip.report
            #expect(report.candidates.allSatisfy { $0.hasSuffix("typ relay raddr 0.0.0.0 rport 9") }, "\(report)")
            #expect(report.trickled == 0)
            #expect(sender.errorOutput.contains("are not used, as --relay-only"), "\(sender.errorOutput)")
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        /// The path is lost while the addresses stay. By a restart, the one by the relay is found.
        @Test func aPathThatIsLostIsSoughtAnew() throws {
            let scene = try Scene(["--link", Self.link(port: 3478, transport: "udp")])
            let counter = try draw("counter", on: scene.whip.display, "--fps", "30")
            let sender = try scene.whip.attach()
            try scene.whip.waitForPicture(sender)
            try wait(until: "the relay is told") { try scene.whip.report.trickled == 1 }
            try scene.whip.network.blockUDP(exceptPort: 3478)
            try wait(until: "it is sought: \(sender.errorOutput)") { try scene.whip.report.restarted > 0 }
            let before = try scene.whip.report.frames
            try wait(until: "pictures flow: \(sender.errorOutput)") {
                try scene.whip.report.frames > before + 60
            }
            #expect(try scene.whip.report.posts == 1, "\(sender.errorOutput)")
            #expect(!sender.errorOutput.contains("trying again"), "\(sender.errorOutput)")
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the sessions are deleted") { try scene.whip.report.sessions == 0 }
        }

        /// Likewise, where the viewer chooses the path: the one that is used at once leads nowhere.
        @Test func aViewerOfASenderThatMovesIsFoundByTheRelay() throws {
            let scene = try Scene()
            let network = scene.whip.network
            let counter = try draw("counter", on: scene.whip.display, "--fps", "30")
            let command = [
                Programs.oriel, "attach", "web", "--dir", scene.whip.broadcast.directory, "--turn",
                "u:p@\(Self.address)",
            ]
            let sender = try Subprocess(network.atSender(command), environment: ["ORIEL_TOKEN": WebBroadcast.token])
            try sender.wait(until: "the sender serves") { sender.output.contains("http") }
            let viewer = try Counterparts.viewer(
                .wrtc,
                of: "http://\(Network.senderAddress):8080/whep",
                token: WebBroadcast.token,
                in: network,
                ["--frames", "150", "--seconds", "300"]
            )
            try sender.wait(until: "the viewer is there") { sender.errorOutput.contains("looks in") }
            try network.blockUDP(exceptPort: 3478)
            try network.moveSender(to: "10.99.0.7")
            let report = try Counterparts.report(viewer)
            #expect(report.frames >= 150, "\(report) \(sender.errorOutput)")
            counter.stop()
            sender.stop()
        }

        @Test func aRelayThatIsNotTrustedIsNamed() throws {
            let scene = try Scene()
            let sender = try scene.whip.attach(arguments: ["--turn", "turns:u:p@\(Self.address)"])
            try sender.wait(until: "it is named") {
                sender.errorOutput.contains(
                    "the relay \(Self.address) cannot be used: the certificate of turns:\(Self.address):5349 is"
                )
            }
            // There is another way.
            try scene.whip.waitForPicture(sender)
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        @Test func relaysAloneNeedOne() throws {
            let scene = try WHIPScene()
            let sender = try scene.attach(arguments: ["--relay-only"])
            try #expect(sender.wait() == .code(64))
            #expect(sender.errorOutput.contains("--relay-only needs a relay"), "\(sender.errorOutput)")
        }
    }
}
