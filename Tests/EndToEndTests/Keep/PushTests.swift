import Glibc
import Posix
import TestSupport
import Testing

extension Keep {
    @Suite struct PushTests {
        /// A server that wants headers first, and forgets them when it is started again.
        @Test func aServerGetsSegments() throws {
            let scene = try RecordScene(hasSender: false)
            let counter = try draw("counter", on: scene.server, "--fps", "10")
            let port = try Ports.free(AF_INET)
            var server = try scene.serve(port)
            let sender = try scene.push(toPort: port)
            try sender.wait(until: "the server has segments: \(sender.errorOutput)") { try scene.segments.count >= 2 }
            #expect(sender.errorOutput.contains("the server takes the picture, AV1"))
            server.kill(SIGKILL)
            try server.wait()
            try sender.wait(until: "it says so") { sender.errorOutput.contains("trying again") }
            let before = try scene.segments.count
            server = try scene.serve(port)
            try sender.wait(until: "it goes on") { try scene.segments.count > before }
            let numbers = try scene.segments
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
            let last = try #require(try scene.segments.last)
            #expect(last > numbers[0])
            #expect(try scene.isMarkedLast(last))
            #expect(try scene.probe() == ["av1"])
            let manifest = try String(decoding: contents(of: "\(scene.folder)/live/manifest.mpd"), as: UTF8.self)
            #expect(manifest.contains("codecs=\"av01.0."))
            server.stop()
            counter.stop()
        }

        /// As on many a server: nginx keeps what is put.
        @Test func nginxKeepsSegments() throws {
            let scene = try RecordScene(hasSender: false)
            let counter = try draw("counter", on: scene.server, "--fps", "10")
            let port = try Ports.free(AF_INET)
            let configuration = """
                daemon off; error_log stderr notice; pid \(scene.folder)/nginx.pid;
                events {}
                http { server {
                    listen 127.0.0.1:\(port); root \(scene.folder); access_log off;
                    client_body_temp_path \(scene.folder)/body; client_max_body_size 100m;
                    location / { dav_methods PUT; create_full_put_path on; }
                } }
                """
            let file = "\(scene.folder)/nginx.conf"
            try FileDescriptor.open(file, O_WRONLY | O_CREAT).write("user root;\n" + configuration)
            let nginx = try Subprocess(["/usr/sbin/nginx", "-e", "stderr", "-c", file])
            try nginx.wait(until: "nginx runs") { nginx.errorOutput.contains("start worker process ") }
            let sender = try scene.push(toPort: port, "--segment-length", "700ms", "--expires", "15s")
            #expect(try sender.wait() == .code(0), "\(sender.errorOutput)")
            #expect(sender.errorOutput.contains("the time of --expires is over"))
            let numbers = try scene.segments
            #expect(numbers.count >= 4 && numbers.last! - numbers[0] == numbers.count - 1, "\(numbers)")
            #expect(try scene.probe() == ["av1"])
            nginx.stop()
            counter.stop()
        }

        /// While nothing changes, only the headers are at the server.
        @Test func onlyClipsArePushed() throws {
            let scene = try RecordScene(hasSender: false)
            let port = try Ports.free(AF_INET)
            let server = try scene.serve(port)
            let events = scene.broadcast.folder.file("events")
            let sender = try scene.push(
                toPort: port,
                "--on-change",
                "medium",
                "--segment-length",
                "1s",
                "--initial",
                "2s",
                "--blind",
                "0",
                "--pre-roll",
                "1s",
                "--events",
                events
            )
            try sender.wait(until: "the server has the headers") {
                sender.errorOutput.contains("the server takes the picture")
            }
            usleep(3_000_000)
            #expect(try scene.segments.isEmpty)
            let counter = try draw("counter", on: scene.server, "--fps", "10")
            try sender.wait(until: "a clip begins") { sender.errorOutput.contains("clip 1 begins: something moves") }
            counter.stop()
            try sender.wait(until: "it ends") { sender.errorOutput.contains("clip 1 ends (quiet)") }
            try sender.wait(until: "its last segment is there") {
                try scene.segments.last.map { try scene.isMarkedLast($0) } ?? false
            }
            let numbers = try scene.segments
            #expect(numbers.count >= 3 && numbers.last! - numbers[0] == numbers.count - 1, "\(numbers)")
            usleep(2_000_000)
            #expect(try scene.segments == numbers)
            #expect(try scene.probe() == ["av1"])
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
            let lines = try String(decoding: contents(of: events), as: UTF8.self)
            for word in ["\"event\":\"clip_begun\"", "\"event\":\"clip_ended\"", "\"state\":\"quiet\""] {
                #expect(lines.contains(word), "\(lines)")
            }
            server.stop()
        }

        /// The token goes to its server, and not where that redirects to.
        @Test func redirectsAreFollowedWithoutTheToken() throws {
            let scene = try RecordScene(hasSender: false)
            let counter = try draw("counter", on: scene.server, "--fps", "10")
            let (first, second) = (try Ports.free(AF_INET), try Ports.free(AF_INET))
            let edge = try scene.serve(second)
            let server = try scene.serve(first, "--token", "a.token", "--redirect", "http://127.0.0.1:\(second)")
            let token = scene.broadcast.folder.file("token")
            try FileDescriptor.open(token, O_WRONLY | O_CREAT).write("a.token\n")
            chmod(token, 0o644)
            let sender = try scene.push(toPort: first, "--push-token-file", token, "--segment-length", "500ms")
            try sender.wait(until: "segments come: \(sender.errorOutput)") { try scene.segments.count >= 2 }
            sender.kill(SIGINT)
            #expect(try sender.wait() == .code(0))
            server.stop()
            edge.stop()
            let strict = try scene.serve(first, "--token", "a.token")
            let next = try scene.push(toPort: first, "--push-token-file", token)
            try next.wait(until: "it is taken: \(next.errorOutput)") {
                next.errorOutput.contains("the server takes the picture")
            }
            next.kill(SIGINT)
            #expect(try next.wait() == .code(0))
            let other = try scene.push(toPort: first)
            #expect(try other.wait() == .code(77))
            #expect(other.errorOutput.contains("give its token with --push-token-file FILE"))
            strict.stop()
            counter.stop()
        }

        @Test(arguments: [
            (["--segment-length", "499ms"], "--segment-length 499ms is out of range: give 500ms to 65500ms"),
            (["--segment-length", "65501ms"], "--segment-length 65501ms is out of range: give 500ms to 65500ms"),
            (["--expires", "0"], "--expires 0 is out of range"),
            (["--on-change", "never", "--pre-roll", "1s"], "give --on-change"),
            (["--zone", "1x1+0+0"], "--zone is for --on-change"), (["--initial", "2s"], "give --on-change"),
            (["--on-change", "low", "--longest", "0"], "--longest 0 is out of range"),
        ]) func anOptionThatCannotBeIsRefused(words: [String], sentence: String) throws {
            let folder = try TemporaryDirectory(of: .shared)
            let command = [Programs.oriel, "attach", "cmaf+http://127.0.0.1:1/live/", "--dir", folder.file("bridge")]
            let result = try CommandResult(command + words)
            #expect(result.code == 64 && result.errorOutput.contains(sentence), "\(result)")
            #expect(result.errorOutput.split(whereSeparator: \.isNewline).count == 1, "\(result)")
        }

        @Test func withoutAServerItIsTold() throws {
            let scene = try RecordScene(hasSender: false)
            let port = try Ports.free(AF_INET)
            let sender = try scene.push(toPort: port)
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
    func serve(_ port: UInt16, _ options: String...) throws -> Subprocess {
        try Subprocess(["python3", "Tests/Counterparts/ingest.py", "\(port)", folder] + options)
    }

    func push(toPort port: UInt16, _ options: String...) throws -> Subprocess {
        let call = "cmaf+http://127.0.0.1:\(port)/live/"
        return try Subprocess([broadcast.oriel, "attach", call, "--dir", broadcast.directory] + options)
    }

    fileprivate func isMarkedLast(_ number: Int) throws -> Bool {
        let segment = try contents(of: "\(folder)/live/video/\(number).m4s")
        return segment[4..<8].elementsEqual("styp".utf8) && segment[16..<24].elementsEqual("msdhlmsg".utf8)
    }

    /// The numbers of the picture's segments, oldest first.
    var segments: [Int] {
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
