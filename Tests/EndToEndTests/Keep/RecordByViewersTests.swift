import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Keep {
    /// Viewers who may command a recorder, which runs beside the sender.
    @Suite struct RecordByViewersTests {
        private let web: WebBroadcast

        init() throws { web = try WebBroadcast("--viewers-record") }

        private func record(_ options: String...) throws -> Subprocess {
            let command = [
                Programs.oriel, "record", "--dir", web.broadcast.directory, "--to", web.broadcast.folder.path,
                "--viewers-record",
            ]
            let recorder = try Subprocess(web.network.atSender(command + options))
            try recorder.wait(until: "it is there") { try web.broadcast.record(["status"]).code == 0 }
            return recorder
        }

        /// What curl gets: the status, and the body.
        private func curl(_ method: String, _ path: String, _ options: String...) throws -> (status: Int, body: String)
        {
            let command = [
                "curl", "-sS", "-X", method, "-H", "Authorization: Bearer \(WebBroadcast.token)", "-w",
                "%{http_code}",
            ]
            let output = try Subprocess.run(web.network.atViewer(command + options + [web.origin + path]))
            let lines = output.split(separator: "\n", omittingEmptySubsequences: false)
            return (Int(lines.last ?? "") ?? 0, lines.dropLast().joined(separator: "\n"))
        }

        private var files: [String] {
            let names = (try? Subprocess.run(["ls", web.broadcast.folder.path]))?.split(separator: "\n") ?? []
            return names.map { String($0) }.filter { $0.hasSuffix(".webm") }
        }

        @Test(arguments: Browser.Kind.allCases) func theLastTimeIsKeptByAKey(kind: Browser.Kind) throws {
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            #expect(try !browser.isShown("keep"))
            let recorder = try record("--replay", "20s")
            try wait(until: "the page offers it") { try browser.isShown("keep") }
            let press = "(dispatchEvent(new KeyboardEvent('keydown', {key: 'r', bubbles: true})), true)"
            try wait(until: "there is a file") {
                // The body is the target of what a person presses.
                let _: Bool = try browser.evaluate(press.replacing("(dispatch", with: "(document.body.dispatch"))
                usleep(500_000)
                return files.count == 1
            }
            let sentence = try browser.evaluate("document.getElementById('status').textContent", as: String.self)
            #expect(sentence.contains("20 seconds are kept") || sentence.contains("just now"), "\(sentence)")
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            try wait(until: "the page offers it no more") { try !browser.isShown("keep") }
            counter.stop()
        }

        /// The person at the machine lets viewers command, twice: the sender's, and each recorder.
        @Test func aRecorderOfItsOwnTakesNoCommands() throws {
            let command = [Programs.oriel, "record", "--dir", web.broadcast.directory, "--replay", "9s"]
            let recorder = try Subprocess(web.network.atSender(command + ["--to", web.broadcast.folder.path]))
            try recorder.wait(until: "it is there") { try web.broadcast.record(["status"]).code == 0 }
            try recorder.wait(until: "the sender knows it") {
                try curl("POST", "/api/recorders/0/replay").status == 403
            }
            #expect(try curl("GET", "/api/recorders").body == "[]")
            #expect(try curl("GET", "/api/recorders/0").status == 403)
            #expect(files.isEmpty)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
        }

        @Test func settingsAreReadAndChanged() throws {
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let recorder = try record("--on-change", "low", "--pre-roll", "0s")
            try recorder.wait(until: "the sender knows it") { try curl("GET", "/api/recorders").body != "[]" }
            let list = try curl("GET", "/api/recorders")
            #expect(list.status == 200 && list.body.contains(#""sensitivity":1,"zones":[]"#), "\(list)")
            #expect(!list.body.contains(web.broadcast.folder.path))
            let settings = #"""
                {"clips":{"augment_s":1,"blind_s":30,"initial_s":1,"longest_s":1,"pre_roll_s":0,"sensitivity":10,"zones":[]}}
                """#
            let process = recorder.pid
            #expect(
                try curl("PUT", "/api/recorders/0", "-H", "If-Match: \"\(process)-7\"", "-d", settings).status == 412
            )
            #expect(try curl("PUT", "/api/recorders/0", "-H", "If-Match: \"1-1\"", "-d", settings).status == 412)
            let tag = try curl("GET", "/api/recorders/0", "-D", "-").body.split(whereSeparator: \.isNewline).first {
                $0.lowercased().hasPrefix("etag:")
            }
            let version = try #require(tag).dropFirst(5).filter { !$0.isWhitespace }
            let changed = try curl("PUT", "/api/recorders/0", "-H", "If-Match: \(version)", "-d", settings)
            #expect(changed.status == 200 && changed.body.contains(#""sensitivity":10"#), "\(changed)")
            try recorder.wait(until: "a clip of the counter is whole") { files.count == 1 }
            let status = try web.broadcast.record(["status", "--json"])
            #expect(status.output.contains(#""version":2"#), "\(status.output)")
            #expect(try web.broadcast.record(["change", "--on-change", "never", "--initial", "2s"]).code == 0)
            let others = try curl("GET", "/api/recorders/0")
            #expect(others.body.contains(#""initial_s":2"#) && !others.body.contains("sensitivity"), "\(others)")
            #expect(try curl("POST", "/api/recorders/0/trigger").status == 200)
            try recorder.wait(until: "its clip is whole") { files.count == 2 }
            #expect(try curl("POST", "/api/recorders/0/replay").status == 409)
            #expect(try web.broadcast.record(["off"]).code == 0)
            #expect(try curl("POST", "/api/recorders/0/trigger").status == 409)
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            try wait(until: "it is gone") { try curl("GET", "/api/recorders").body == "[]" }
            counter.stop()
        }
    }
}
