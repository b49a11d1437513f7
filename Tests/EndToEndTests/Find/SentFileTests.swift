import Glibc
import Posix
import TestSupport
import Testing

extension Find {
    @Suite struct SentFileTests {
        private let neighbours: Neighbours
        private let inbox: TemporaryDirectory
        private let files: TemporaryDirectory

        init() throws {
            neighbours = try Neighbours()
            try neighbours.pair()
            (inbox, files) = (try TemporaryDirectory(of: .shared), try TemporaryDirectory(of: .shared))
        }

        private func makeFile(_ name: String, megabytes: Int) throws -> String {
            let path = files.file(name)
            try Subprocess.run([
                "dd", "if=/dev/urandom", "of=\(path)", "bs=1M", "count=\(megabytes)", "status=none",
            ])
            chmod(path, 0o644)
            return path
        }

        private func watch() throws -> Watcher {
            let watcher = Watcher(
                try neighbours.start(
                    .tablet,
                    ["nearby", "--watch", "--json", "--visible", "paired", "--inbox", inbox.path]
                )
            )
            try watcher.process.wait(until: "it listens") { watcher.changes.contains { $0.event == "listed" } }
            return watcher
        }

        private func names() throws -> [String] {
            try FileDescriptor.open(inbox.path, O_RDONLY | O_DIRECTORY).entries().filter { !$0.hasPrefix(".") }.sorted()
        }

        @Test func filesArriveWhole() throws {
            let watcher = try watch()
            let sent = [try makeFile("one.bin", megabytes: 3), try makeFile("two", megabytes: 0)]
            let result = try neighbours.run(.desk, "send-file", "tablet", sent[0], sent[1])
            #expect(result.code == 0, "\(result.errorOutput)")
            #expect(try names() == ["one.bin", "two"])
            for (path, name) in zip(sent, ["one.bin", "two"]) {
                #expect(try contents(of: path) == contents(of: inbox.file(name)))
            }
            try watcher.process.wait(until: "it is told of both") {
                watcher.changes.filter { $0.file?.path != nil }.map { $0.file?.name } == ["one.bin", "two"]
            }
            #expect(watcher.changes.last { $0.file?.path != nil }?.file?.from == "desk")
        }

        /// The wire is cut in the middle, and comes back.
        @Test func aCutCostsNoneOfIt() throws {
            let watcher = try watch()
            let path = try makeFile("film", megabytes: 600)
            let sending = try neighbours.start(.desk, ["send-file", "tablet", path])
            try sending.wait(until: "a part is there") {
                watcher.changes.contains { ($0.file?.received ?? 0) > 10 << 20 }
            }
            try neighbours.network.setSenderLink(isUp: false)
            try sending.wait(until: "it waits") {
                sending.errorOutput.contains("tablet is not connected: waiting for it")
            }
            try neighbours.network.setSenderLink(isUp: true)
            #expect(try sending.wait(timeout: patience) == .code(0), "\(sending.errorOutput)")
            #expect(try names() == ["film"])
            try Subprocess.run(["cmp", path, inbox.file("film")])
        }

        @Test func whatCannotBeSentIsToldInASentence() throws {
            let file = try makeFile("a", megabytes: 1)
            for path in ["/no/such/file", files.path, "/dev/null"] {
                let result = try neighbours.run(.desk, "send-file", "tablet", path)
                #expect(result.code == 1 && result.errorOutput.contains("cannot send \(path)"), "\(result.errorOutput)")
            }
            // Nobody has named a folder for it, or nobody is there.
            let plain = try neighbours.watch(.tablet)
            try plain.process.wait(until: "it listens") { plain.changes.contains { $0.event == "listed" } }
            let refused = try neighbours.run(.desk, "send-file", "tablet", file)
            #expect(refused.code == 77 && refused.errorOutput.contains("tablet takes no files of this device"))
            plain.process.stop()
            try neighbours.waitUntilGone(.tablet)
            let away = try neighbours.run(.desk, "send-file", "tablet", file)
            #expect(away.code == 69 && away.errorOutput.contains("tablet cannot be reached now"), "\(away.errorOutput)")
            let folder = try neighbours.run(.tablet, "nearby", "--watch", "--inbox", "/no/such/folder")
            #expect(folder.code == 1 && folder.errorOutput.contains("cannot use the folder /no/such/folder"))
        }

        @Test func aCancelledFileLeavesNothing() throws {
            let watcher = try watch()
            let sending = try neighbours.start(.desk, ["send-file", "tablet", try makeFile("film", megabytes: 600)])
            try sending.wait(until: "a part is there") {
                watcher.changes.contains { ($0.file?.received ?? 0) > 10 << 20 }
            }
            sending.kill(SIGINT)
            #expect(try sending.wait(timeout: patience) == .code(1))
            try watcher.process.wait(until: "it is told") {
                watcher.changes.contains { $0.file?.problem == "cancelled" }
            }
            #expect(try names().isEmpty)
        }
    }
}
