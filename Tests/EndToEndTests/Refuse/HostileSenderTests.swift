import Glibc
import Posix
import TestSupport
import Testing

extension Refuse {
    /// The processes beside a sender, as one that was taken over may speak to them.
    @Suite struct HostileSenderTests {
        /// Runs a helper with lines on its standard input to its end.
        private func run(_ words: [String], _ lines: [String], on broadcast: Broadcast) throws -> Subprocess {
            let pipe = try Pipe()
            let helper = try Subprocess(
                [Programs.oriel] + words,
                environment: ["DISPLAY": broadcast.display],
                input: pipe.reading.raw
            )
            try pipe.writing.write(lines.map { $0 + "\n" }.joined())
            return helper
        }

        private func task(_ broadcast: Broadcast) -> String {
            #"{"broadcast":"\#(broadcast.directory)","frame":"off","sounds":[],"sources":["region 100x100+0+0"]}"#
        }

        @Test func theDesktopShowsOnlyWhatWasAllowed() throws {
            let server = try XServer()
            let broadcast = try Broadcast(on: server.display)
            let capture = try broadcast.start("--no-cursor")
            let never = UInt64.max
            let pipe = try Pipe()
            let desktop = try Subprocess(
                [Programs.oriel, "desktop"],
                environment: ["DISPLAY": server.display],
                input: pipe.reading.raw
            )
            func order(_ id: Int, _ deed: String, until: UInt64 = never) throws {
                try pipe.writing.write(#"{"deed":\#(deed),"id":\#(id),"until":\#(until)}"# + "\n")
            }
            try pipe.writing.write(task(broadcast) + "\n")
            try order(1, #"{"show":{"source":"screen"}}"#)
            try order(2, #"{"show":{"source":"region 100x100+0+0\nshow screen"}}"#)
            // Its time is over.
            try order(3, #"{"show":{"source":"region 100x100+0+0"}}"#, until: 1)
            try pipe.writing.write("{}\n[]\nnull\n\u{0}\n{\"id\":4}\n")
            try order(5, #"{"highlight":{"numbers":[1,2,3]}}"#)
            try order(6, #"{"highlight":{"numbers":[9223372036854775807,2,3,4]}}"#)
            try order(7, #"{"highlight":{"numbers":[65535,65535,65535,65535,100]}}"#)
            try order(8, #"{"show":{"source":"region 100x100+0+0"}}"#)
            try desktop.wait(until: "the last one is answered") { desktop.output.contains("\"id\":8") }
            let answers = desktop.outputLines
            #expect(answers.count == 6, "\(answers)")
            #expect(answers.prefix(2).allSatisfy { $0.contains(#""reason":"unknown""#) }, "\(answers)")
            #expect(answers[2].contains(#""id":5"#) && answers[2].contains("outside"), "\(answers)")
            #expect(answers.last == #"{"id":8}"#, "\(answers)")
            try wait(until: "that is shown") { try broadcast.run("status").output.contains("100x100") }
            // A line without an end ends it.
            try? pipe.writing.write(String(repeating: "x", count: 60_000))
            #expect(try desktop.wait() == .code(0), "\(desktop.errorOutput)")
            capture.stop()
        }

        /// What is no message does not reach the program, whatever the sender says.
        @Test func theProgramGetsMessagesOnly() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let (program, told) = (folder.file("program"), folder.file("told"))
            let script = "#!/bin/sh\nwords=\"$(printf '%s|' \"$@\")$ORIEL_SENDER\"\necho \"$words\" >> \(told)\n"
            try FileDescriptor.open(program, O_WRONLY | O_CREAT).write(script)
            chmod(program, 0o755)
            try FileDescriptor.open(told, O_WRONLY | O_CREAT).write("")
            chmod(told, 0o666)
            let lines = [
                #"{"text":"--help","parameters":{},"sender":"x"}"#, #"{"text":"a b","parameters":{},"sender":"x"}"#,
                #"{"text":"a","parameters":{"-x":"1"},"sender":"x"}"#, "{}", "null", "\u{1B}[2J",
                #"{"text":"a","parameters":{"b":"1\n2"},"sender":"x"}"#,
                #"{"text":"good","parameters":{"b":"$(id)"},"sender":"\u001b[31mred"}"#,
            ]
            let server = try XServer()
            let hook = try run(["hook", "--", program], lines, on: try Broadcast(on: server.display))
            try wait(until: "it has run") { try contents(of: told).contains(UInt8(ascii: "\n")) }
            let words = String(decoding: try contents(of: told), as: UTF8.self)
            #expect(words == "good|b=$(id)|\\u{1B}[31mred\n", "\(words)")
            hook.stop()
        }
    }
}
