import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Publish {
    /// A sender that publishes into a VideoRoom of Janus, across a network, and who looks in there.
    @Suite struct JanusTests {
        private func expectEnd(_ sender: Subprocess, _ code: Int32, _ words: String) throws {
            try #expect(sender.wait() == .code(code))
            #expect(sender.errorOutput.contains(words), "\(sender.errorOutput)")
        }

        private func leave(_ sender: Subprocess) throws {
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        /// A viewer that decodes VP8.
        private func aiortc(in scene: JanusScene, _ arguments: String...) throws -> Subprocess {
            let program = Counterparts.python + [Counterparts.path("janus_viewer.py"), Janus.server, "1234"]
            return try Subprocess(scene.network.atViewer(program + arguments))
        }

        private func isDecoded(by viewer: Subprocess) throws -> Bool {
            struct Line: Decodable {
                let frames: Int
                let width: Int?
            }
            guard let line = viewer.outputLines.last else { return false }
            let seen = try JSONDecoder().decode(Line.self, from: Data(line.utf8))
            return seen.frames > 0 && seen.width == 1280
        }

        @Test(arguments: ["VP8", "VP9", "AV1"]) func aBrowserSeesTheScreen(codec: String) throws {
            let scene = try JanusScene()
            let browser = try scene.open("room=1234")
            let sender = try scene.attach("1234", ["--codec", codec.lowercased()])
            try scene.waitForPicture(browser, sender)
            try #expect(scene.seen(browser).codec == "video/\(codec)")
            try leave(sender)
            try wait(until: "the room knows") { try scene.seen(browser).frames == 0 }
        }

        /// The room takes what it likes best, and a viewer who comes late sees a screen at rest.
        @Test func theRoomChoosesTheCodec() throws {
            let scene = try JanusScene("publishers = 6, bitrate = 128000, fir_freq = 10, videocodec = \"vp8\"")
            let sender = try scene.attach()
            try scene.waitUntilPublished(sender)
            #expect(sender.errorOutput.contains("the room gets the picture, VP8"))
            let viewer = try aiortc(in: scene)
            try wait(until: "aiortc decodes the picture: \(viewer.errorOutput)") { try isDecoded(by: viewer) }
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            try leave(sender)
        }

        @Test func aRoomWithoutACodecInCommonSaysHowToGiveItOne() throws {
            let scene = try JanusScene("publishers = 6, videocodec = \"vp8\"")
            try expectEnd(scene.attach("1234", ["--codec", "av1"]), 1, "set videocodec = \"av1\" in the room")
        }

        @Test func aRoomThatIsFullOrMissingEndsIt() throws {
            let scene = try JanusScene("publishers = 1")
            let sender = try scene.attach()
            try scene.waitUntilPublished(sender)
            try expectEnd(scene.attach(), 75, "room 1234 is full")
            try expectEnd(scene.attach("99"), 69, "has no room 99")
            try expectEnd(scene.attach("tea"), 1, "has numbers for rooms")
            try leave(sender)
        }

        @Test func aPINLetsIn() throws {
            let scene = try JanusScene("publishers = 6, pin = \"4711\"")
            let folder = try TemporaryDirectory(of: .shared)
            try Data("4711\n".utf8).write(to: URL(filePath: folder.file("pin")))
            chmod(folder.file("pin"), 0o644)
            try expectEnd(scene.attach(), 1, "--janus-pin-file")
            try expectEnd(scene.attach(environment: ["ORIEL_JANUS_PIN": "1"]), 1, "refuses the PIN")
            let sender = try scene.attach("1234", ["--janus-pin-file", folder.file("pin")])
            let browser = try scene.open("room=1234&pin=4711")
            try scene.waitForPicture(browser, sender)
            try leave(sender)
        }

        @Test func anAPISecretAndATokenLetIn() throws {
            let scene = try JanusScene(
                general: "api_secret = \"open sesame\", token_auth = true, token_auth_secret = \"x\""
            )
            try expectEnd(scene.attach(), 1, "wants a secret or a token")
            try expectEnd(
                scene.attach(environment: ["ORIEL_JANUS_SECRET": "wrong"]),
                1,
                "refuses the secret or the token"
            )
            let sender = try scene.attach(environment: ["ORIEL_JANUS_SECRET": "open sesame"])
            try scene.waitUntilPublished(sender)
            try leave(sender)
        }

        @Test(arguments: ["1234", "tea"]) func roomsMayHaveNames(name: String) throws {
            let scene = try JanusScene("publishers = 6", room: name, videoRoom: "string_ids = true")
            let sender = try scene.attach(name)
            try scene.waitUntilPublished(sender)
            try leave(sender)
        }

        @Test func aServerThatDiesIsPublishedToAgain() throws {
            let scene = try JanusScene("publishers = 1")
            let sender = try scene.attach()
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            for round in 2...3 {
                try scene.janus.kill()
                try wait(until: "the browser notices") { try scene.seen(browser).frames == 0 }
                try scene.janus.start()
                try scene.waitUntilPublished(sender, times: round)
                try scene.waitForPicture(browser, sender)
            }
            let lines = sender.errorOutput.split(separator: "\n").filter { $0.contains("trying again") }
            #expect(lines.count == 2, "\(sender.errorOutput)")
            try leave(sender)
        }

        /// The picture goes on while only the WebSocket is away.
        @Test func aSessionIsClaimedBack() throws {
            let scene = try JanusScene("publishers = 1", general: "reclaim_session_timeout = 60")
            func relay() throws -> Subprocess {
                let relay = try Subprocess(
                    scene.network.atSender(
                        ["/usr/bin/python3", Counterparts.path("relay.py"), "8189", Network.viewerAddress, "8188"]
                    )
                )
                try relay.wait(until: "the relay listens") { relay.output.contains("listening") }
                return relay
            }
            var wire = try relay()
            let sender = try scene.attach(to: "janus+ws://127.0.0.1:8189/1234")
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            wire.kill(SIGKILL)
            try wire.wait()
            try sender.wait(until: "the sender notices") { sender.errorOutput.contains("trying again") }
            wire = try relay()
            try sender.wait(until: "it is there again") { sender.errorOutput.contains("the picture went on") }
            let before = try scene.seen(browser).frames
            #expect(before > 0)
            let paint = try draw("typing", on: scene.display)
            try wait(until: "the picture goes on") { try scene.seen(browser).frames > before }
            paint.stop()
            #expect(sender.errorOutput.split(separator: "\n").count { $0.contains("the room gets") } == 1)
            try leave(sender)
        }

        /// What people have written, and not how a WebSocket begins.
        @Test(arguments: ["janus+ws", "janus+wss"]) func anErrorNamesTheServerAsItWasWritten(scheme: String) throws {
            let display = try XServer(.virtual(width: 320, height: 240))
            let broadcast = try Broadcast(on: display.display)
            let capture = try broadcast.start()
            let call = "\(scheme)://127.0.0.1:1/1234"
            let sender = try Subprocess([Programs.oriel, "attach", "--dir", broadcast.directory, call])
            try expectEnd(
                sender,
                69,
                "cannot reach \(scheme.dropFirst("janus+".count))://127.0.0.1:1 (Connection refused)"
            )
            #expect(!sender.errorOutput.contains("http"), "\(sender.errorOutput)")
            capture.stop()
        }

        @Test func aMachineWithIPv6OnlyPublishes() throws {
            let scene = try JanusScene(over: Network(.ipv6))
            let browser = try scene.open("room=1234")
            let sender = try scene.attach()
            try scene.waitForPicture(browser, sender)
            try leave(sender)
            try wait(until: "the room knows") { try scene.seen(browser).frames == 0 }
        }

        /// Viewers that wait at a dummy publisher are switched to the screen when it comes, though the room has but one place.
        @Test func whoComesEarlySeesTheScreen() throws {
            let scene = try JanusScene("publishers = 1, videocodec = \"vp8\", dummy_publisher = true")
            let viewer = try aiortc(in: scene, "--early")
            try viewer.wait(until: "it waits") { !viewer.outputLines.isEmpty }
            let sender = try scene.attach()
            try sender.wait(until: "aiortc decodes the picture: \(viewer.errorOutput)") { try isDecoded(by: viewer) }
            try leave(sender)
        }

        /// What viewers ask for does not multiply keyframes.
        @Test func manyViewersCostFewKeyframes() throws {
            let scene = try JanusScene()
            let sender = try scene.attach("1234", ["--codec", "vp8"])
            let first = try scene.open("room=1234")
            try scene.waitForPicture(first, sender)
            let before = try scene.seen(first).keyframes
            let others = try (0..<3).map { _ in try scene.open("room=1234") }
            for other in others { try scene.waitForPicture(other, sender) }
            #expect(try scene.seen(first).keyframes - before <= 4)
            try leave(sender)
        }

        /// By the configuration that Oriel prints.
        @Test(arguments: ["vp8", "vp9", "av1"]) func aMountpointIsFedByPlainRTP(codec: String) throws {
            let call = "rtp://\(Network.viewerAddress):5004"
            let words = ["attach", "--print", "janus", "--codec", codec, call]
            let printed = try CommandResult([Programs.oriel] + words)
            #expect(printed.code == 0)
            let scene = try JanusScene(streaming: printed.output)
            let sender = try scene.attach(to: call, ["--codec", codec])
            let browser = try scene.open("mountpoint=1")
            try scene.waitForPicture(browser, sender)
            try #expect(scene.seen(browser).codec == "video/\(codec.uppercased())")
            try leave(sender)
        }
    }
}
