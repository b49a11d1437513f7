import FoundationEssentials
import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Keep {
    @Suite struct RecordTests {
        @Test func whatIsShownIsInTheFile() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record()
            try recorder.wait(until: "there is a while of it") { try scene.size > 100_000 }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let name = try #require(scene.files.first)
            #expect(recorder.outputLines == ["\(scene.folder)/\(name)"])
            #expect(name.hasPrefix("default-20") && name.hasSuffix("Z.webm"))
            let probe = try scene.probe(name)
            #expect(probe.streams.map(\.codec) == ["vp8"])
            #expect(probe.frames > 20)
            #expect(probe.duration > 0.5)
            counter.stop()
        }

        /// Its picture was captured before anybody recorded, and does not change.
        @Test func aStillScreenIsInTheFile() throws {
            let scene = try RecordScene()
            let begin = MonotonicClock.now()
            let recorder = try scene.record()
            usleep(3_000_000)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            let end = MonotonicClock.now()
            let probe = try scene.probe(try #require(scene.files.first))
            #expect(probe.frames >= 2)
            #expect(probe.duration > 2.9 && probe.duration < (end - begin) / .seconds(1) + 0.1)
        }

        /// Frames that a receiver's link cannot take at once wait there, though the recorder has room for them.
        @Test func besideAPlainReceiverItCostsNoKeyframes() throws {
            let scene = try RecordScene(hasSender: false, size: (1280, 720))
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let port = try Ports.free(AF_INET)
            let drain = try Subprocess([
                "python3", "-c",
                """
                import socket, sys
                receiver = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
                receiver.bind(("127.0.0.1", int(sys.argv[1])))
                print("ready", flush=True)
                while True: receiver.recv(65536)
                """, "\(port)",
            ])
            try drain.wait(until: "it listens") { !drain.outputLines.isEmpty }
            let path = scene.broadcast.folder.file("stats")
            let sender = try scene.broadcast.attach(toPort: port, "--stats", path, "--keyframe-interval", "0")
            let statistics = StatisticsLines(path)
            try sender.wait(until: "it sends") { try statistics.last("frames_encoded") ?? 0 > 10 }
            let before = try #require(try statistics.last("keyframes"))
            let recorder = try scene.record()
            let begin = try #require(try statistics.last("frames_encoded"))
            try recorder.wait(until: "it goes on for a while") {
                try statistics.last("frames_encoded") ?? 0 > begin + 150
            }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            // One for the recorder, and another one if the first came in between.
            #expect(try #require(try statistics.last("keyframes")) - before <= 3, "\(statistics.text)")
            for program in [sender, drain, counter] { program.stop() }
        }

        @Test func withoutASenderItHasOneOfItsOwn() throws {
            let scene = try RecordScene(hasSender: false)
            let recorder = try scene.record()
            try wait(until: "it has a sender") { try scene.senders == 1 }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            #expect(try scene.probe(try #require(scene.files.first)).streams.first?.width == 1280)
            try wait(until: "the sender has ended") { try scene.senders == 0 }
        }

        @Test func anotherSizeIsAnEncodeOfItsOwn() throws {
            let scene = try RecordScene()
            let recorder = try scene.record("--size", "640x480", "--codec", "vp9")
            #expect(try scene.senders == 2)
            recorder.kill(SIGKILL)
            try recorder.wait()
            try wait(until: "its sender has ended with it") { try scene.senders == 1 }
            let another = try scene.record("--size", "640x480", "--codec", "vp9")
            another.kill(SIGINT)
            #expect(try another.wait() == .code(0))
            for name in scene.files {
                let stream = try #require(scene.probe(name).streams.first)
                #expect(stream.codec == "vp9" && stream.width == 640)
            }
        }

        /// Whatever it is doing.
        @Test func aRecorderThatIsKilledLosesNothing() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            for count in 1...5 {
                let recorder = try scene.record()
                let begin = try scene.size
                try recorder.wait(until: "it has written something") { try scene.size > begin + 1000 * count }
                recorder.kill(SIGKILL)
                try recorder.wait()
                #expect(scene.files.count { $0.hasSuffix(".part") } == 1, "\(scene.files)")
            }
            let recorder = try scene.record()
            try recorder.wait(until: "all others are whole") { scene.files.count { $0.hasSuffix(".webm") } == 5 }
            recorder.kill(SIGTERM)
            #expect(try recorder.wait() == .code(0))
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            #expect(scene.files.count == 6)
            counter.stop()
        }

        /// What was there stays playable, and another file begins as soon as there is room.
        @Test func aFullDiskEndsAFileAndNoMore() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let disk = try TemporaryDirectory(of: .shared)
            let script = """
                dd if=/dev/zero of="$1/filler" bs=1M count=4 2> /dev/null
                "$2" record --dir "$3" --to "$1" &
                until [ -e "$4/room" ]; do sleep 0.1; done
                rm "$1/filler"
                until [ -e "$4/end" ]; do sleep 0.1; done
                kill $!
                wait $!
                cp "$1"/*.webm "$4"
                """
            let folders = [scene.broadcast.directory, scene.folder]
            let recorder = try Subprocess(
                commandLine(of: script, onDiskOf: "5632k", at: disk, folders[0], folders[1])
            )
            try recorder.wait(until: "it says so") {
                recorder.errorOutput.contains(/nothing can be recorded in .* \(No space/)
            }
            try recorder.wait(until: "the file is whole") { recorder.outputLines.count == 1 }
            try FileDescriptor.open("\(scene.folder)/room", O_WRONLY | O_CREAT).write("")
            try recorder.wait(until: "another file begins") {
                recorder.errorLines.count { $0.contains("recording into") } == 2
            }
            try FileDescriptor.open("\(scene.folder)/end", O_WRONLY | O_CREAT).write("")
            #expect(try recorder.wait() == .code(0))
            #expect(scene.files.count == 2, "\(scene.files)")
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            #expect(recorder.errorLines.count { $0.contains("nothing can be recorded") } == 1)
            counter.stop()
        }

        /// More than any disk has: nothing is written again and again, and it is said once.
        @Test func theRoomOfOthersStays() throws {
            let scene = try RecordScene()
            let recorder = try Subprocess([
                scene.broadcast.oriel, "record", "--dir", scene.broadcast.directory, "--reserve", "900000T",
                "\(scene.folder)/demo.webm",
            ])
            try recorder.wait(until: "it says so") {
                recorder.errorOutput.contains(/nothing can be recorded in .* \(No space/)
            }
            usleep(5_000_000)
            #expect(scene.files.count <= 1, "\(scene.files)")
            #expect(recorder.errorLines.count { $0.contains("nothing can be recorded") } == 1)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
        }

        @Test func aSenderThatComesBackGoesOnInTheFile() throws {
            let scene = try RecordScene()
            let counter = try draw("counter", on: scene.server, "--fps", "30")
            let recorder = try scene.record()
            for _ in 0..<2 {
                let sender = try #require(scene.sender)
                sender.kill(SIGKILL)
                try sender.wait()
                let before = try scene.size
                try scene.restartSender()
                try recorder.wait(until: "it goes on: \(scene.files)") { try scene.size > before + 20_000 }
            }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            for name in scene.files { #expect(try scene.probe(name).frames > 0, "\(name)") }
            counter.stop()
        }
    }
}

extension RecordScene {
    /// The number of senders.
    fileprivate var senders: Int {
        get throws {
            let status = try broadcast.run("status", "--json").output
            struct Status: Decodable {
                struct Sender: Decodable {
                    let pid: Int
                }
                let senders: [Sender]
            }
            return try JSONDecoder().decode(Status.self, from: Data(status.utf8)).senders.count
        }
    }

    /// Bytes of all files.
    fileprivate var size: Int {
        get throws {
            files.reduce(0) { sum, name in
                var info = stat()
                return stat("\(folder)/\(name)", &info) == 0 ? sum + Int(info.st_size) : sum
            }
        }
    }
}
