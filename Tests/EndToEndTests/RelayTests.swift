import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension ProgramTests {
    /// A sender that reaches a media server by coturn alone, as no UDP passes between the two.
    @Suite struct RelayTests {
        private static let address = Network.viewerAddress
        private static let secret = "north"

        private final class Scene {
            let whip: WHIPScene
            let folder: TemporaryDirectory
            let certificate: String
            private let relay: Relay

            init(over family: Network.Family = .ipv4, usesSecret: Bool = false) throws {
                whip = try WHIPScene(over: Network(family))
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
            try wait(until: "the sender serves") { sender.output.contains("http") }
            let viewer = try Counterparts.viewer(
                .wrtc,
                of: "http://\(Network.senderAddress):8080/whep",
                token: WebBroadcast.token,
                in: network,
                ["--frames", "300", "--seconds", "60"]
            )
            try wait(until: "the viewer is there") { sender.errorOutput.contains("looks in") }
            try network.blockUDP(exceptPort: 3478)
            try network.moveSender(to: "10.99.0.7")
            let report = try Counterparts.report(viewer)
            #expect(report.frames >= 300, "\(report) \(sender.errorOutput)")
            counter.stop()
            sender.stop()
        }

        @Test func aRelayThatIsNotTrustedIsNamed() throws {
            let scene = try Scene()
            let sender = try scene.whip.attach(arguments: ["--turn", "turns:u:p@\(Self.address)"])
            try wait(until: "it is named: \(sender.errorOutput)") {
                sender.errorOutput.contains("the relay \(Self.address) cannot be used: the certificate of")
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
