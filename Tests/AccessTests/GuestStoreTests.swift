import Glibc
import Posix
import TestSupport
import Testing

@testable import Access

/// The file of those who come in without asking.
@Suite struct GuestStoreTests {
    private let home: TemporaryDirectory
    private let store: GuestStore
    private static let keys = (0..<3).map { GuestKey(rawValue: String(repeating: "\($0)", count: 64))! }

    init() throws {
        home = try TemporaryDirectory()
        let path = home.path
        store = try GuestStore { $0 == "HOME" ? path : nil }
    }

    private func text() throws -> String {
        String(decoding: try FileDescriptor.open(store.path, O_RDONLY).readBytes(1 << 16), as: UTF8.self)
    }

    private func write(_ text: String) throws {
        try FileDescriptor.open(store.path, O_WRONLY | O_TRUNC).write(text)
    }

    @Test func whoIsAddedIsThereUntilRemoved() throws {
        #expect(try store.load().isEmpty)
        #expect(try store.forget { _ in true } == 0)
        #expect(access(home.file(".local"), F_OK) != 0, "nothing is made in vain")
        for (key, name) in zip(Self.keys, ["Ann", "\u{1B}\"Bob\n", "Ann"]) { try store.remember(key, name: name) }
        #expect(store.path == home.file(".local/state/oriel/visitors/known"))
        #expect(try store.load().map(\.name) == ["Ann", "\u{1B}\"Bob\n", "Ann"])
        #expect(try store.load().map(\.key) == Self.keys)
        #expect(try text().split(separator: "\n").count == 3)
        let info = try FileDescriptor.open(store.path, O_RDONLY).status()
        #expect(info.st_mode & 0o777 == 0o600)
        // Who comes by another name is the same one.
        try store.remember(Self.keys[0], name: "Anna")
        #expect(try store.load().map(\.name) == ["\u{1B}\"Bob\n", "Ann", "Anna"])
        #expect(try store.forget { $0.name == "Ann" } == 1)
        #expect(try store.load().map(\.key) == [Self.keys[1], Self.keys[0]])
        try store.forgetAll()
        #expect(try store.load().isEmpty)
        try store.forgetAll()
    }

    /// Nobody is known, one sentence says so, and the file stays as it is.
    @Test(arguments: [
        ("x", 1), ("{}", 1), ("[]", 1), ("{\"key\":\"ab\",\"name\":\"\",\"since\":\"\"}\n", 1), ("\u{0}", 1),
        ("{\"key\":\"\(String(repeating: "Z", count: 64))\",\"name\":\"\",\"since\":\"\"}\n", 1), ("\n", 1 << 20 + 1),
    ])
    func whatIsDamagedIsASentence(part: String, count: Int) throws {
        let damage = String(repeating: part, count: count)
        try store.remember(Self.keys[0], name: "Ann")
        let before = try text()
        try write(before + damage)
        for change in [{ _ = try store.load() }, { try store.remember(Self.keys[1], name: "") }] as [() throws -> Void]
        {
            let failure = #expect(throws: GuestStoreError.self) { try change() }
            #expect(failure == .damaged(path: store.path))
            #expect(failure.map { "\($0)".contains("oriel forget --all") } ?? false)
        }
        #expect(try FileDescriptor.open(store.path, O_RDONLY).status().st_size == before.utf8.count + damage.utf8.count)
        try store.forgetAll()
        #expect(try store.load().isEmpty)
    }

    @Test func whatOthersMayWriteIsNotBelieved() throws {
        try store.remember(Self.keys[0], name: "Ann")
        chmod(store.path, 0o622)
        #expect(throws: GuestStoreError.self) { try store.load() }
        unlink(store.path)
        mkfifo(store.path, 0o600)
        #expect(throws: GuestStoreError.self) { try store.load() }
        unlink(store.path)
        symlink("/etc/passwd", store.path)
        #expect(throws: GuestStoreError.self) { try store.load() }
    }

    /// As by two commands at once.
    @Test func changesAtOnceAllCount() async throws {
        let store = store
        try await withThrowingTaskGroup { group in
            for number in 0..<20 {
                group.addTask {
                    let digits = String(number, radix: 16)
                    let key = try #require(
                        GuestKey(rawValue: String(repeating: "0", count: 64 - digits.count) + digits)
                    )
                    try store.remember(key, name: "\(number)")
                }
            }
            try await group.waitForAll()
        }
        #expect(try Set(store.load().map(\.name)) == Set((0..<20).map { "\($0)" }))
    }

    /// The file of earlier versions stands beside the certificate's key.
    @Test func theFileOfEarlierVersionsIsMoved() throws {
        let former = home.file(".local/state/oriel/known")
        func makeFormer(name: String) throws {
            try FileDescriptor.open(former, O_WRONLY | O_CREAT | O_EXCL)
                .write("{\"key\":\"\(Self.keys[1])\",\"name\":\"\(name)\",\"since\":\"2026-01-01T00:00:00Z\"}\n")
        }
        try store.remember(Self.keys[0], name: "Ann")
        try store.forgetAll()
        try makeFormer(name: "Bob")
        #expect(try store.load().map(\.name) == ["Bob"])
        #expect(access(former, F_OK) != 0 && access(store.path, F_OK) == 0)
        // One that is made later does not count, and does not come back when all are forgotten.
        try makeFormer(name: "Eve")
        try store.remember(Self.keys[0], name: "Ann")
        #expect(try store.load().map(\.name) == ["Bob", "Ann"])
        try store.forgetAll()
        #expect(try store.load().isEmpty && access(former, F_OK) != 0)
        // The process that asks cannot move it from within its sandbox.
        try makeFormer(name: "Bob")
        #expect(store.makeFolder() == home.file(".local/state/oriel/visitors"))
        #expect(access(former, F_OK) != 0)
        #expect(try store.forget { $0.name == "Bob" } == 1)
    }

    /// The process that asks may write there, and must not have a command write elsewhere.
    /// Invariant: confined.
    @Test func nothingIsWrittenThroughLinks() throws {
        try store.remember(Self.keys[0], name: "Ann")
        symlink(home.file("profile"), "\(store.path).\(getpid()).part")
        try store.remember(Self.keys[1], name: "Bob")
        #expect(try store.load().map(\.name) == ["Ann", "Bob"])
        let lock = home.file(".local/state/oriel/visitors/lock")
        #expect(unlink(lock) == 0 && symlink(home.file("profile"), lock) == 0)
        #expect(throws: GuestStoreError.self) { try store.remember(Self.keys[2], name: "Eve") }
        #expect(access(home.file("profile"), F_OK) != 0)
    }

    @Test func theFolderIsThatOfTheState() throws {
        let variables = ["XDG_STATE_HOME": "/s", "HOME": "/h"]
        #expect(try GuestStore { variables[$0] }.path == "/s/oriel/visitors/known")
        #expect(try GuestStore { $0 == "HOME" ? "/h" : "relative" }.path == "/h/.local/state/oriel/visitors/known")
        #expect(throws: StateFolder.Missing.self) { try GuestStore { _ in nil } }
    }

    /// A name comes from a sender, which may have been taken over. It cannot make the file one that is not read any more.
    @Test func noNameSpoilsTheFile() throws {
        try store.remember(Self.keys[0], name: String(repeating: "\u{1}", count: 1 << 20))
        try store.remember(Self.keys[1], name: "Ann")
        #expect(try store.load().map(\.name) == [String(repeating: "\u{1}", count: 60), "Ann"])
    }

    /// What could not be read again is not written.
    @Test func aFullFileStays() throws {
        try store.remember(Self.keys[0], name: "Ann")
        let line = try text()
        func longer(by count: Int) -> String {
            line.replacing("Ann", with: "Ann" + String(repeating: "x", count: count))
        }
        let long = String(repeating: longer(by: 4000), count: 250)
        try write(long + longer(by: (1 << 20) - long.utf8.count - line.utf8.count))
        let failure = #expect(throws: GuestStoreError.self) { try store.remember(Self.keys[1], name: "Bob") }
        #expect(failure == .full(path: store.path))
        #expect(try store.load().count == 251)
        #expect(try store.forget { $0.name.hasPrefix("Annx") } == 251)
        try store.remember(Self.keys[1], name: "Bob")
        #expect(try store.load().map(\.name) == ["Bob"])
    }
}
