import Glibc
import TestSupport
import Testing

extension ProgramTests {
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
            try wait(until: "it has looked three times, and told the rate once: \(live.output)") {
                let lines = live.output.split(separator: "\n")
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

        @Test func itRemembersWhatWentWrong() throws {
            var server: XServer? = try XServer()
            let broadcast = try Broadcast(on: server!.display)
            let capture = try broadcast.start()
            server = nil
            try wait(until: "the screen is gone") { try broadcast.run("status").output.hasPrefix("source_lost") }
            let text = try broadcast.run("inspect").output
            #expect(text.contains("last error  ") && text.contains(" ms ago"), "\(text)")
            capture.stop()
        }
    }
}
