import FoundationEssentials
import Glibc
import TestSupport
import Testing
import Time

extension Publish {
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

        /// It is told once, and that the server dies is noticed all the same.
        @Test func withoutALocationTheCallGoesOn() throws {
            let scene = try WHIPScene("--without", "location")
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            try scene.restartServer()
            try wait(until: "it is published again: \(sender.errorOutput)") {
                try scene.report.frames > 0
            }
            #expect(sender.errorOutput.ranges(of: "does not say where the session is").count == 1)
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            #expect(try scene.report.deleted == 0)
        }

        @Test func aBusyServerIsAskedAgain() throws {
            let scene = try WHIPScene("--busy", "2", "--faults", "1")
            let sender = try scene.attach()
            try scene.waitForPicture(sender)
            #expect(try scene.report.posts == 4)
            #expect(sender.errorOutput.contains("has no room now (status 503)"))
            #expect(sender.errorOutput.contains("has failed: no disk (status 500)"))
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

        @Test func badEndpoints() throws {
            let scene = try WHIPScene()
            let endpoints: [(path: String, code: Int32, words: String)] = [
                ("/nowhere", 69, "no endpoint of WHIP"), ("\\", 64, "write whip+https://"),
                ("/status/200", 1, "answers with status 200"), ("/status/301", 1, "redirects as WHIP does not"),
                ("/status/400", 1, "does not take the offer: line 3 is no SDP (status 400)"),
                ("/status/401", 1, "wants a token"), ("/status/403", 1, "wants a token"),
                ("/status/404", 69, "(status 404)"), ("/status/405", 69, "(status 405)"),
                ("/status/406", 1, "does not take the offer"), ("/status/410", 69, "(status 410)"),
                ("/status/415", 1, "does not take the offer"),
                ("/status/422", 1, "does not take the offer: two tracks of video (status 422)"),
                ("/status/451", 1, "does not take the offer: Not here: the law[2J says no (status 451)"),
                ("/status/499", 1, "(status 499)"), ("/status/501", 69, "no endpoint of WHIP"),
            ]
            for endpoint in endpoints {
                let sender = try scene.attach(to: endpoint.path)
                try #expect(sender.wait() == .code(endpoint.code), "\(endpoint.path): \(sender.errorOutput)")
                #expect(sender.errorOutput.contains(endpoint.words), "\(endpoint.path): \(sender.errorOutput)")
            }
        }

        /// The server has another token when the session is lost. In its file it is renewed in the ways that people have for it.
        @Test(arguments: ["in place", "by renaming", "by a link"]) func aTokenIsReadAgain(way: String) throws {
            let folder = try TemporaryDirectory(of: .shared)
            func write(_ text: String, to name: String) throws {
                try Data("\(text)\n".utf8).write(to: URL(filePath: folder.file(name)))
                chmod(folder.file(name), 0o644)
            }
            try write("first", to: "right")
            mkdir(folder.file("mine"), 0o755)
            try write("first", to: way == "by a link" ? "mine/one" : "mine/token")
            if way == "by a link" { symlink("one", folder.file("mine/token")) }
            let scene = try WHIPScene("--token-file", folder.file("right"))
            let counter = try draw("counter", on: scene.display, "--fps", "30")
            let sender = try scene.attach(arguments: ["--whip-token-file", folder.file("mine/token")])
            // So long that the server has told of them: from then on its silence means something.
            try wait(until: "pictures flow: \(sender.errorOutput)") { try scene.report.frames > 60 }
            try write("second", to: "right")
            try scene.restartServer()
            try wait(until: "the old one is refused: \(sender.errorOutput)") { try !scene.report.refused.isEmpty }
            switch way {
            case "in place":
                let file = open(folder.file("mine/token"), O_WRONLY | O_TRUNC)
                _ = Glibc.write(file, "second\n", 7)
                close(file)
            case "by renaming":
                try write("second", to: "mine/new")
                rename(folder.file("mine/new"), folder.file("mine/token"))
            default:
                try write("second", to: "mine/two")
                symlink("two", folder.file("mine/new"))
                rename(folder.file("mine/new"), folder.file("mine/token"))
            }
            try scene.waitForPicture(sender)
            #expect(try Set(scene.report.refused) == ["Bearer first"])
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the session is deleted") { try scene.report.deleted == 1 }
        }

        @Test func secretsInAnAddressAreNotTold() throws {
            let scene = try WHIPScene("--faults", "1000")
            let sender = try scene.attach(to: "/live/whip?key=s3cr3t-key")
            try sender.wait(until: "it is lost") { sender.errorOutput.contains("status") }
            let status = try Subprocess.run([Programs.oriel, "status", "--json", "--dir", scene.broadcast.directory])
            #expect(status.contains("whip+http:") && !status.contains("s3cr3t"))
            sender.kill(SIGTERM)
            _ = try sender.wait()
            #expect(!sender.errorOutput.contains("s3cr3t"), "\(sender.errorOutput)")
            for call in ["whip+https://u:s3cr3t@h/x", "whip+https://h/s3cr3t s3cr3t"] {
                let refused = try Subprocess([Programs.oriel, "attach", call])
                try #expect(refused.wait() == .code(64))
                #expect(refused.errorOutput.contains("no endpoint of WHIP"), "\(refused.errorOutput)")
                #expect(!refused.errorOutput.contains("s3cr3t"), "\(refused.errorOutput)")
            }
        }
    }
}
