import Glibc
import TestSupport
import Testing

extension Publish {
    /// Calls that come to a sender, fail, come back and leave, while others go on.
    @Suite struct AddedCallTests {
        private static let whip = "whip+http://\(Network.viewerAddress):8888/live/whip"
        /// Without what may be secret in it.
        private static let toldWHIP = "whip+http://\(Network.viewerAddress):8888/live…"
        private static let room = "room+http://\(Network.senderAddress):8090/tea"
        private static let plain = "rtp://\(Network.viewerAddress):5004"

        /// What a browser tells of the stream that it gets.
        private struct Reception: Decodable {
            let keyFramesDecoded: Int
            let framesReceived: Int
            let packetsLost: Int
            let pliCount: Int
        }

        private func reception(_ browser: Browser) throws -> Reception {
            try browser.evaluate(
                "(async () => [...(await oriel.pc.getStats()).values()].find("
                    + "entry => entry.type === 'inbound-rtp' && entry.kind === 'video'))()"
            )
        }

        private func waitForNumbers(_ browser: Browser) throws {
            let first = try browser.number()
            try wait(until: "the browser shows what is new") {
                guard let number = try browser.number() else { return false }
                return first.map { number > $0 } ?? true
            }
        }

        @Test func aScreenIsSharedIntoARoomAndToAMediaServerToo() throws {
            let network = try Network()
            let (room, server) = (try RoomInView(in: network), try MediaServer(in: network))
            let folder = try TemporaryDirectory(of: .shared)
            let stats = StatisticsLines(folder.file("stats"))
            let screen = try SharedScreen(
                "--also",
                Self.room,
                "--also",
                Self.whip,
                "--codec",
                "vp8",
                "--stats",
                stats.path,
                over: network,
                of: XServer(.virtual(width: 1280, height: 720))
            )
            let counter = try draw("counter", on: screen.server, "--fps", "30")
            try room.waitForPictures(screen.process)
            try server.waitForPictures(screen.process)
            #expect(try screen.view().error == nil)
            let directory = screen.folder.file("bridge")
            let calls = try ToldCall.all(in: directory)
            #expect(calls.map(\.name) == ["web", Self.room, Self.toldWHIP])
            #expect(calls.allSatisfy { $0.state == "standing" && $0.reason == nil })
            // Nobody looks in by a browser any more, and that call is told of all the same.
            try wait(until: "the viewer is gone") {
                try ToldCall.all(in: directory).map(\.viewers.count) == [0, 1, 1]
            }
            // One encode makes no more than 30 frames a second, two would make twice that.
            try wait(until: "seconds are counted") { try stats.count > 1 }
            let (frames, seconds) = (
                try #require(try stats.last("frames_encoded")), try #require(try stats.last("time_s"))
            )
            #expect(frames <= (seconds + 1) * 33)
            let text = try CommandResult([Programs.oriel, "status", "--dir", directory]).output
            #expect(text.contains("\n\(Self.toldWHIP)") && text.contains("standing"), "\(text)")
            counter.stop()
            screen.process.kill(SIGTERM)
            try #expect(screen.process.wait() == .code(0))
            try wait(until: "the media server knows") { try server.report.deleted == 1 }
            try wait(until: "the room knows") { try room.frames == 0 }
        }

        /// The media server dies twice while a browser looks in.
        @Test func aCallThatFailsAndComesBackCostsABrowserNothing() throws {
            let web = try WebBroadcast("--codec", "vp8")
            let server = try MediaServer(in: web.network)
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let added = try web.broadcast.run("attach", Self.whip, "--running")
            #expect(added.code == 0 && added.errorOutput.contains("is in \(Self.toldWHIP)"), "\(added.errorOutput)")
            try server.waitForPictures(web.sender)
            try waitForNumbers(browser)
            let (before, overflowsBefore) = (try reception(browser), try web.network.overflowsAtViewer())
            for _ in 0..<2 {
                try server.kill()
                try wait(until: "the call is away: \(web.sender.errorOutput)") {
                    try ToldCall.named(Self.toldWHIP, in: web.broadcast.directory)?.state == "away"
                }
                let away = try #require(try ToldCall.named(Self.toldWHIP, in: web.broadcast.directory))
                #expect(away.reason?.contains("\(Network.viewerAddress):8888") ?? false, "\(away)")
                try waitForNumbers(browser)
                try server.restart()
                try server.waitForPictures(web.sender)
                #expect(try ToldCall.named(Self.toldWHIP, in: web.broadcast.directory)?.state == "standing")
                try waitForNumbers(browser)
            }
            let after = try reception(browser)
            // A busy browser may leave its own socket full, and ask for what it has lost.
            let overflows = try web.network.overflowsAtViewer() - overflowsBefore
            #expect(after.packetsLost - before.packetsLost <= overflows)
            #expect(after.pliCount == before.pliCount || overflows > 0)
            #expect(after.framesReceived > before.framesReceived)
            // Each time the media server needs one, and asks again where it has lost that.
            let keyframes = after.keyFramesDecoded - before.keyFramesDecoded
            #expect((2...4).contains(keyframes), "\(keyframes) keyframes")
            #expect(try browser.state == "live" && web.sender.status() == nil)
            counter.stop()
        }

        @Test func callsComeAndLeaveWhileABrowserLooksIn() throws {
            let web = try WebBroadcast("--codec", "vp8")
            let (room, server) = (try RoomInView(in: web.network), try MediaServer(in: web.network))
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let directory = web.broadcast.directory
            let sdp = web.broadcast.sdp
            for round in 1...2 {
                unlink(sdp)
                let all = [Self.room, Self.whip, Self.plain]
                let added = try web.broadcast.run(["attach"] + all + ["--running", "--sdp", sdp])
                #expect(added.code == 0, "\(added.errorOutput)")
                let player = try Subprocess(
                    web.network.atViewer([
                        "ffmpeg", "-v", "error", "-protocol_whitelist", "file,udp,rtp", "-i", sdp, "-frames:v", "30",
                        "-f", "framemd5", "-",
                    ])
                )
                try room.waitForPictures(web.sender)
                try server.waitForPictures(web.sender)
                // It cannot ask for a keyframe.
                try #expect(player.wait() == .code(0), "\(player.errorOutput)")
                #expect(player.output.split(separator: "\n").count { !$0.hasPrefix("#") } == 30)
                let calls = try ToldCall.all(in: directory)
                #expect(
                    calls.map(\.name) == ["web", Self.room, Self.toldWHIP, Self.plain]
                        && calls.map(\.viewers.count) == [1, 1, 1, 0]
                )
                let again = try web.broadcast.run("attach", Self.whip, "--running")
                #expect(again.code == 1 && again.errorOutput.contains("already"), "\(again.errorOutput)")

                #expect(try web.broadcast.run("leave", Self.whip).code == 0)
                try wait(until: "the media server knows") { try server.report.deleted == round }
                try room.waitForPictures(web.sender)
                #expect(try web.broadcast.run("leave", Self.room, Self.plain).code == 0)
                try wait(until: "the room knows") { try room.frames == 0 }
                #expect(try ToldCall.all(in: directory).map(\.state) == ["standing", "ended", "ended", "ended"])
                try waitForNumbers(browser)
            }
            let unknown = try web.broadcast.run("leave", Self.whip)
            #expect(
                unknown.code == 1 && unknown.errorOutput.contains("no call \(Self.toldWHIP)"),
                "\(unknown.errorOutput)"
            )
            #expect(try browser.state == "live")
            // A busy browser may leave its own socket full.
            #expect(try reception(browser).packetsLost <= web.network.overflowsAtViewer())
            counter.stop()
        }

        /// A browser looks in by the sender's own page, and another one by Janus.
        @Test func aRoomOfJanusComesAndLeaves() throws {
            let web = try WebBroadcast("--codec", "vp8")
            let janus = try Janus(in: web.network, rooms: [("1234", "publishers = 6")])
            defer { withExtendedLifetime(janus) {} }
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let viewer = try web.open(.chromium, page: Janus.page("room=1234"))
            let call = Janus.call("1234")
            func frames() throws -> Int { try viewer.evaluate("(async () => (await state()).frames)()", as: Int.self) }
            func publishers() throws -> [String] {
                try viewer.evaluate("publishers()", as: [String].self)
            }
            for _ in 1...2 {
                let added = try web.broadcast.run("attach", call, "--running")
                #expect(added.code == 0 && added.errorOutput.contains("is in \(call)"), "\(added.errorOutput)")
                try wait(until: "pictures flow: \(web.sender.errorOutput)") {
                    try frames() > 30
                }
                #expect(try publishers() == ["Oriel"])
                #expect(try ToldCall.named(call, in: web.broadcast.directory)?.state == "standing")
                #expect(try web.broadcast.run("leave", call).code == 0)
                try wait(until: "Janus knows") { try publishers().isEmpty && frames() == 0 }
                #expect(try ToldCall.named(call, in: web.broadcast.directory)?.state == "ended")
                try waitForNumbers(browser)
            }
            #expect(try browser.state == "live" && web.sender.status() == nil)
            counter.stop()
        }

        /// A sender that has begun with plain RTP alone, without anything that WebRTC needs.
        @Test func aSenderEndsWithTheLastOfItsCalls() throws {
            let network = try Network()
            let server = try MediaServer(in: network)
            let display = try XServer(.virtual(width: 1280, height: 720))
            let broadcast = try Broadcast(on: display.display)
            let capture = try broadcast.start("--no-cursor")
            let counter = try draw("counter", on: display, "--fps", "30")
            let command = [Programs.oriel, "attach", Self.plain, "--dir", broadcast.directory]
            let sender = try Subprocess(network.atSender(command))
            try sender.wait(until: "it sends") { sender.output.contains("v=0") }
            let added = try broadcast.run("attach", Self.whip, "--running")
            #expect(added.code == 0, "\(added.errorOutput)")
            try server.waitForPictures(sender)
            #expect(try broadcast.run("leave", Self.plain).code == 0)
            try server.waitForPictures(sender)
            #expect(sender.status() == nil)
            #expect(try broadcast.run("leave", Self.whip).code == 0)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the media server knows") { try server.report.deleted == 1 }
            counter.stop()
            capture.stop()
        }

        @Test func whyACallDoesNotComeAboutIsASentence() throws {
            let web = try WebBroadcast()
            let server = try MediaServer(in: web.network, "--token", "a.secret")
            for (words, code, sentence) in [
                (["whip+http://\(Network.viewerAddress):1/x"], 69, "\(Network.viewerAddress):1"),
                (["room+http://\(Network.viewerAddress):1/x"], 69, "\(Network.viewerAddress):1"),
                ([Self.whip], 1, "wants a token"), (["web"], 1, "oriel attach web"),
                (["rtp://nowhere.invalid:5004"], 69, "nowhere.invalid"),
                ([Self.plain, "--codec", "vp9"], 64, "--codec"), ([Self.plain, "--token", "none"], 64, "--token"),
                ([Self.room, "--render", "window"], 64, "--render"),
                ([Self.plain, "--sender", "1"], 75, "no sender 1"),
            ] as [([String], Int32, String)] {
                let result = try web.broadcast.run(["attach"] + words + ["--running"])
                #expect(result.code == code && result.errorOutput.contains(sentence), "\(words): \(result.errorOutput)")
            }
            for words in [
                ["leave", "web"], ["leave", Self.whip], ["leave", Self.whip, "--sender", "\(web.sender.pid)"],
            ] {
                #expect(try web.broadcast.run(words).code == 1)
            }
            // The secret comes by the environment, and stands on no command line.
            let command = [Programs.oriel, "attach", Self.whip, "--running", "--dir", web.broadcast.directory]
            let added = try CommandResult(command, environment: ["ORIEL_WHIP_TOKEN": "a.secret"])
            #expect(added.code == 0, "\(added.errorOutput)")
            try server.waitForPictures(web.sender)

            let other = try web.attachAnother("--listen", "\(web.network.senderHost):8081")
            let unclear = try web.broadcast.run("attach", Self.plain, "--running")
            #expect(
                unclear.code == 1 && unclear.errorOutput.contains("say which by --sender"),
                "\(unclear.errorOutput)"
            )
            let clear = try web.broadcast.run("attach", Self.plain, "--sender", "\(other.pid)", "--no-wait")
            #expect(clear.code == 0, "\(clear.errorOutput)")
            other.stop()
            web.sender.stop()
            let nobody = try web.broadcast.run("attach", Self.plain, "--running")
            #expect(nobody.code == 75 && nobody.errorOutput.contains("no sender"), "\(nobody.errorOutput)")
        }

        /// A media server without room is asked again, as long as somebody waits for that.
        @Test func whoStopsWaitingTakesTheCallBack() throws {
            let web = try WebBroadcast()
            let server = try MediaServer(in: web.network, "--busy", "1000")
            let command = [Programs.oriel, "attach", Self.whip, "--running", "--dir", web.broadcast.directory]
            let waiting = try Subprocess(command)
            try waiting.wait(until: "it says why") { waiting.errorOutput.contains("status 503") }
            #expect(try ToldCall.named(Self.toldWHIP, in: web.broadcast.directory)?.state == "away")
            waiting.kill(SIGINT)
            try #expect(waiting.wait() == .code(1))
            #expect(waiting.errorOutput.contains("interrupted before the sender joined"), "\(waiting.errorOutput)")
            #expect(try ToldCall.named(Self.toldWHIP, in: web.broadcast.directory)?.state == "ended")
            #expect(try server.report.sessions == 0)
        }
    }
}
