import Glibc
import TestSupport
import Testing

extension Keep {
    @Suite struct PushTests {
        /// A server that wants headers first, and forgets them when it is started again.
        @Test func aServerGetsSegments() throws {
            let scene = try RecordScene(hasSender: false)
            let counter = try draw("counter", on: scene.server, "--fps", "10")
            let port = try Ports.free(AF_INET)
            func serve() throws -> Subprocess {
                try Subprocess(["python3", "Tests/Counterparts/ingest.py", "\(port)", scene.folder])
            }
            var server = try serve()
            let call = "cmaf+http://127.0.0.1:\(port)/live/"
            let sender = try Subprocess([scene.broadcast.oriel, "attach", call, "--dir", scene.broadcast.directory])
            try sender.wait(until: "the server has segments: \(sender.errorOutput)") { try scene.segments.count >= 2 }
            #expect(sender.errorOutput.contains("the server takes the picture, AV1"))
            server.kill(SIGKILL)
            try server.wait()
            try sender.wait(until: "it says so") { sender.errorOutput.contains("trying again") }
            let before = try scene.segments.count
            server = try serve()
            try sender.wait(until: "it goes on") { try scene.segments.count > before }
            let numbers = try scene.segments
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
            let last = try #require(try scene.segments.last)
            #expect(last > numbers[0])
            let segment = try contents(of: "\(scene.folder)/live/video/\(last).m4s")
            #expect(segment[4..<8].elementsEqual("styp".utf8) && segment[16..<24].elementsEqual("msdhlmsg".utf8))
            #expect(try scene.probe() == ["av1"])
            let manifest = try String(decoding: contents(of: "\(scene.folder)/live/manifest.mpd"), as: UTF8.self)
            #expect(manifest.contains("codecs=\"av01.0."))
            server.stop()
            counter.stop()
        }

        @Test func withoutAServerItIsTold() throws {
            let scene = try RecordScene(hasSender: false)
            let port = try Ports.free(AF_INET)
            let call = "cmaf+http://127.0.0.1:\(port)/live/"
            let sender = try Subprocess([scene.broadcast.oriel, "attach", call, "--dir", scene.broadcast.directory])
            try sender.wait(until: "it says so") { sender.errorOutput.contains("Connection refused") }
            #expect(sender.errorOutput.contains("trying again"))
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
        }

        @Test(arguments: ["cmaf+http://127.0.0.1:1/live", "cmaf+http://127.0.0.1:1/live/?a=b", "cmaf+nonsense/"])
        func aPlaceThatCannotBeIsRefused(call: String) throws {
            let folder = try TemporaryDirectory(of: .shared)
            let result = try CommandResult([Programs.oriel, "attach", call, "--dir", folder.file("bridge")])
            #expect(result.code == 64 && result.errorOutput.contains("cmaf+https://HOST/PATH/"), "\(result)")
        }
    }
}

extension RecordScene {
    /// The numbers of the picture's segments, oldest first.
    fileprivate var segments: [Int] {
        get throws {
            let names = try Subprocess.run(["sh", "-c", "ls \"$0\" 2> /dev/null || true", "\(folder)/live/video"])
            return names.split(separator: "\n").compactMap { name in
                name.hasSuffix(".m4s") ? Int(name.dropLast(".m4s".count)) : nil
            }.sorted()
        }
    }

    /// The codecs of all segments in a row, as ffprobe finds them.
    fileprivate func probe() throws -> [String] {
        let script = """
            cd "$0/live/video"; cat init.mp4 $(ls | grep m4s | sort -n) > whole.mp4
            exec ffprobe -v warning -count_frames -show_entries stream=codec_name -of csv=p=0 whole.mp4 2>&1
            """
        return try Subprocess.run(["sh", "-c", script, folder]).split(separator: "\n").map { String($0) }
    }
}
