import Glibc
import Posix
import TestSupport
import Testing

/// One sender in several calls at once.
extension Publish {
    @Suite struct SeveralCallsTests {
        /// Invariant: oneEncode.
        @Test func aBrowsersStackAndAPlainReceiverShareAnEncode() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let stats = StatisticsLines(folder.file("stats"))
            let web = try WebBroadcast("rtp://\(Network.viewerAddress):5004", "--stats", stats.path)
            let counter = try draw("counter", on: web.server, "--fps", "30")
            #expect(web.sender.output.hasPrefix("v=0"))
            let sdp = String(web.sender.output[...web.sender.output.firstRange(of: "\nhttp")!.lowerBound])
            let path = folder.file("screen.sdp")
            try FileDescriptor.open(path, O_WRONLY | O_CREAT | O_TRUNC).write(sdp)
            let player = try Subprocess(
                web.network.atViewer([
                    "ffmpeg", "-v", "error", "-protocol_whitelist", "file,udp,rtp", "-i", path, "-frames:v", "60", "-f",
                    "framemd5", folder.file("frames"),
                ])
            )
            let report = try web.view(.aiortc, "--codec", "VP8", "--frames", "60", "--seconds", "300")
            #expect(report.error == nil && report.frames >= 60)
            #expect(try player.wait() == .code(0), "\(player.errorOutput)")
            let frames = String(decoding: try contents(of: folder.file("frames")), as: UTF8.self)
            #expect(frames.split(separator: "\n").count { !$0.hasPrefix("#") } == 60)
            try wait(until: "they are counted") { try stats.last("frames_encoded") ?? 0 >= 50 }
            // One encode makes no more than 30 frames a second, two would make twice that.
            let (encoded, sent) = (
                try #require(try stats.last("frames_encoded")), try #require(try stats.last("packets_sent"))
            )
            let seconds = try #require(try stats.last("time_s"))
            #expect(encoded <= (seconds + 1) * 33)
            #expect(sent > 2 * encoded, "each frame went two ways")
            #expect(try stats.last("viewers") != nil)
            counter.stop()
        }

        /// The plain receiver comes and goes, and the viewer sees nothing of it.
        @Test func aRefusedCallHoldsUpNobody() throws {
            let web = try WebBroadcast("rtp://\(Network.viewerAddress):5004")
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let report = try web.view(.pion, "--codec", "VP8", "--frames", "60", "--seconds", "300")
            #expect(report.error == nil && report.frames >= 60, "\(report) \(web.sender.errorOutput)")
            counter.stop()
        }

        @Test(arguments: [
            (["web", "web"], "web is given twice"),
            (["rtp://h:5004", "rtp://h:5004"], "rtp://h:5004 is given twice"),
            (["rtp://h:5004", "rtp://i:5004", "--sdp", "file"], "--sdp takes the description of one"),
            (["rtp://h:5004", "rtp://i:5004", "--local-port", "5000"], "--local-port is for one"),
            ([], "missing expected argument"),
        ])
        func callsThatDoNotGoTogetherAreRefused(calls: [String], sentence: String) throws {
            let result = try CommandResult([Programs.oriel, "attach"] + calls)
            #expect(result.code == 64 && result.errorOutput.contains(sentence), "\(result.errorOutput)")
        }
    }
}
