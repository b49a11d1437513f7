import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Time

extension ProgramTests {
    /// A sender that publishes to libwebrtc by WHIP, across a network.
    @Suite struct WHIPTests {
        @Test(arguments: [("VP8", .ipv4), ("VP9", .ipv6), ("AV1", .ipv4)] as [(String, Network.Family)])
        func aServerDecodesTheScreen(codec: String, over family: Network.Family) throws {
            let scene = try WHIPScene(over: Network(family), "--codec", codec)
            // It redirects, too.
            let sender = try scene.attach(to: "/moved")
            try scene.waitForPicture(sender)
            let report = try scene.report
            #expect(report.codec == "video/\(codec)" && report.width == 1280)
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the session is deleted") { try scene.report.deleted == 1 }
        }

        @Test func aServerThatDiesIsPublishedToAgain() throws {
            let scene = try WHIPScene()
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            try scene.restartServer()
            try scene.waitForPicture(sender)
            #expect(sender.errorOutput.contains("trying again"))
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        /// The sender comes to another network: the server has the same session.
        @Test(arguments: [Duration.zero, .seconds(3)]) func aSenderThatMovesGoesOn(after pause: Duration) throws {
            let scene = try WHIPScene()
            let counter = try draw("counter", on: scene.display, "--fps", "30")
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            try scene.network.moveSender(to: "10.99.0.7", after: pause)
            let before = try scene.report.frames
            try wait(until: "pictures flow: \(sender.errorOutput)") { try scene.report.frames > before + 60 }
            #expect(try scene.report.posts == 1, "\(sender.errorOutput)")
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the session is deleted: \(sender.errorOutput) \(scene.server.errorOutput)") {
                try scene.report.deleted == 1
            }
        }

        @Test func aBusyServerIsAskedAgain() throws {
            let scene = try WHIPScene("--busy", "2")
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            #expect(try scene.report.posts == 3)
            #expect(sender.errorOutput.contains("has no room now (status 503)"))
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        @Test func aTokenLetsIn() throws {
            let scene = try WHIPScene("--token", "a.secret")
            let folder = try TemporaryDirectory(of: .shared)
            func file(_ text: String) throws -> String {
                let path = folder.file("token\(text.utf8.count)")
                try Data(text.utf8).write(to: URL(filePath: path))
                chmod(path, 0o644)
                return path
            }
            for (arguments, words) in [
                ([], "wants a token"), (["--whip-token-file", try file("wrong\n")], "refuses the token"),
            ] {
                let stranger = try scene.attach(arguments: arguments)
                try #expect(stranger.wait() == .code(1))
                #expect(stranger.errorOutput.contains(words), "\(stranger.errorOutput)")
            }
            let nowhere = try scene.attach(arguments: ["--whip-token-file", folder.file("nowhere")])
            try #expect(nowhere.wait() == .code(1))
            let malformed = try scene.attach(environment: ["ORIEL_WHIP_TOKEN": "two words"])
            try #expect(malformed.wait() == .code(64))
            let one = try scene.attach(environment: ["ORIEL_WHIP_TOKEN": "a.secret"])
            try scene.waitForPicture(one)
            one.kill(SIGTERM)
            try #expect(one.wait() == .code(0))
            let other = try scene.attach(arguments: ["--whip-token-file", try file(" a.secret\n")])
            try wait(until: "it is let in, too") { try scene.report.posts == 2 }
            other.kill(SIGTERM)
            try #expect(other.wait() == .code(0))
        }

        @Test(
            arguments: [("/nowhere", 69, "no endpoint of WHIP"), ("\\", 64, "write whip+https://")]
                as [(String, Int32, String)]
        )
        func badEndpoints(path: String, code: Int32, words: String) throws {
            let scene = try WHIPScene()
            let sender = try scene.attach(to: path)
            try #expect(sender.wait() == .code(code))
            #expect(sender.errorOutput.contains(words), "\(sender.errorOutput)")
        }
    }
}
