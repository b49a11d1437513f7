import Glibc
import TestSupport
import Testing

extension Keep {
    @Suite struct ShareRecordTests {
        /// Its recorder is started again, and makes the file whole that was torn off.
        @Test func aShareIsRecorded() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let scene = try SharedScreen("--record", folder.path)
            let share = scene.process
            func files() throws -> [Substring] { try Subprocess.run(["ls", folder.path]).split(separator: "\n") }
            try share.wait(until: "it records") { try files().count == 1 }
            let recorder = try #require(try scene.child("record"))
            usleep(1_500_000)
            kill(recorder, SIGKILL)
            try share.wait(until: "another one goes on") {
                try files().count == 2 && files().count { $0.hasSuffix(".webm") } == 1
            }
            #expect(share.errorOutput.contains("the recorder ended by signal 9: starting it again"))
            #expect(share.outputLines.count == 1, "the link alone: \(share.output)")
            try share.wait(until: "its status is told") {
                let status = try CommandResult([Programs.oriel, "status"] + scene.broadcast)
                return status.output.contains("recorder: recording into \(folder.path)")
            }
            let second = try #require(try scene.child("record"))
            #expect(second != recorder)
            share.kill(SIGINT)
            #expect(try share.wait() == .code(0))
            let names = try files()
            #expect(names.count == 2 && names.allSatisfy { $0.hasSuffix(".webm") }, "\(names)")
            for name in names {
                let duration = try Subprocess.run([
                    "ffprobe", "-v", "error", "-show_entries", "format=duration", "-of", "csv=p=0",
                    "\(folder.path)/\(name)",
                ])
                #expect(Double(duration.split(separator: "\n")[0]).map { $0 > 0 } ?? false, "\(name): \(duration)")
            }
        }

        @Test func whatWasChangedIsKeptOverACrash() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let scene = try SharedScreen("--record", folder.path)
            func status() throws -> String {
                try CommandResult([Programs.oriel, "record", "status", "--json"] + scene.broadcast).output
            }
            try scene.process.wait(until: "it records") { try status().contains(#""version":1"#) }
            let change = try CommandResult(
                [Programs.oriel, "record", "change", "--on-change", "high", "--zone", "64x64+0+0"] + scene.broadcast
            )
            #expect(change.code == 0, "\(change.errorOutput)")
            let before = try status()
            #expect(before.contains(#""sensitivity":10"#) && before.contains(#""version":2"#), "\(before)")
            let recorder = try #require(try scene.child("record"))
            kill(recorder, SIGKILL)
            try scene.process.wait(until: "another one goes on") {
                try scene.child("record").map { $0 != recorder } ?? false
            }
            try scene.process.wait(until: "it knows the change") {
                let after = try status()
                return after.contains(#""sensitivity":10"#) && after.contains(#""version":2"#)
                    && after.contains(#""width":64"#)
            }
            scene.process.kill(SIGINT)
            #expect(try scene.process.wait() == .code(0))
        }

        @Test func aFolderThatIsNotThereIsTold() throws {
            let folder = try TemporaryDirectory(of: .shared)
            let result = try CommandResult([
                Programs.oriel, "share", "--display", ":4711", "--dir", folder.file("bridge"), "--record",
                "/no/such/folder",
            ])
            #expect(result.code == 1)
            #expect(result.errorOutput.contains("cannot record into /no/such/folder"))
        }

        /// Who looks in is told that it is kept.
        @Test(arguments: Browser.Kind.allCases)
        func viewersAreTold(kind: Browser.Kind) throws {
            let web = try WebBroadcast()
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            func isTold() throws -> Bool {
                try browser.evaluate("!document.getElementById('recording').hidden", as: Bool.self)
            }
            #expect(try !isTold())
            let recorder = try Subprocess(
                web.network.atSender([
                    Programs.oriel, "record", "--dir", web.broadcast.directory, "--to", web.broadcast.folder.path,
                ])
            )
            try wait(until: "the page says so") { try isTold() }
            #expect(try web.broadcast.record(["pause"]).code == 0)
            try wait(until: "it is paused") { try !isTold() }
            #expect(try web.broadcast.record(["resume"]).code == 0)
            try wait(until: "it goes on") { try isTold() }
            recorder.kill(SIGINT)
            #expect(try recorder.wait() == .code(0))
            try wait(until: "it has ended") { try !isTold() }
        }
    }
}
