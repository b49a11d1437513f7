import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing

extension Read {
    /// `oriel inspect` on a live broadcast.
    @Suite struct InspectTests {
        @Test(arguments: ["file", "memfd"])
        func itShowsWhoIsThereAndWhatChanges(storage: String) throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--bridge", storage)
            let sender = try broadcast.attach(toPort: Ports.free())
            let counter = try draw("counter", on: server, "--rate", "20")
            try wait(until: "frames are written") {
                try wholeNumber("published", in: broadcast.run("inspect", "--json").output) ?? 0 > 30
            }

            let json = try broadcast.run("inspect", "--json").output
            #expect(json.contains(#""writers":[{"pid":\#(capture.pid),"program":"oriel"}]"#), "\(json)")
            #expect(json.contains(#""readers":[{"pid":\#(sender.pid),"program":"oriel"}]"#), "\(json)")
            let ages = try #require(json.split(separator: "frames_since_change\":[").last?.prefix { $0 != "]" })
            let tiles = ages.split(separator: ",").compactMap { Int($0) }
            #expect(tiles.contains { $0 < 5 } && tiles.contains { $0 > 5 }, "\(tiles)")

            let live = try Subprocess([Programs.oriel, "inspect", "--dir", broadcast.directory, "--watch", "--json"])
            try live.wait(until: "it has looked three times, and told the rate once: \(live.output)") {
                let lines = live.outputLines
                return lines.count >= 3 && lines.compactMap(rate).contains { 10...35 ~= $0 }
            }
            live.kill(SIGINT)
            #expect(try live.wait() == .code(0))
            #expect(try broadcast.run("inspect").output.contains("<- latest"))
            counter.stop()
            sender.stop()
            capture.stop()
        }

        private func rate(in line: Substring) -> Int? {
            let rates = line.ranges(of: "\"rates\":{").last
            return rates.flatMap { wholeNumber("frames_per_second", in: String(line[$0.lowerBound...])) }
        }

        @Test func itShowsTheSound() throws {
            let folder = try TemporaryDirectory()
            let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
            func inspect(_ words: String...) throws -> String {
                try CommandResult([Programs.orielOfTests, "inspect", "--dir", directory.path] + words).output
            }
            #expect(try !inspect().contains("sound"))
            do {
                var writer = try SoundWriter(in: directory)
                let samples = [Int16](repeating: 1, count: SoundBlock.samples)
                writer.hide(before: MonotonicClock.now())
                for _ in 0..<3 {
                    try writer.write(samples.span, channels: 1, capturedAt: MonotonicClock.now(), follows: false)
                }
                let text = try inspect()
                #expect(text.contains("sound       active, ") && text.contains(" (\(getpid()))\n"), "\(text)")
                #expect(text.contains(" 3 blocks, the newest of 1 channels "), "\(text)")
                #expect(text.contains(" may be heard\n") && text.contains(" heartbeat "), "\(text)")
                let json = try inspect("--json")
                #expect(json.contains(#""blocks_written":3"#), "\(json)")
                #expect(json.contains(#""channels":1"#) && json.contains(#""number":3"#), "\(json)")
                #expect(json.contains(#""file_bytes":266240"#), "\(json)")
            }
            #expect(try !inspect().contains("sound"))
            #expect(try inspect("--json").contains(#""state":"stopped""#))
        }

        @Test func itRemembersWhatWentWrong() throws {
            var server: XServer? = try XServer()
            let broadcast = try Broadcast(on: server!.display)
            let capture = try broadcast.start()
            server = nil
            try broadcast.wait(forState: "source_lost")
            let text = try broadcast.run("inspect").output
            #expect(text.contains("last error  ") && text.contains(" ms ago"), "\(text)")
            capture.stop()
        }
    }
}
