import Glibc
import Posix
import TestSupport
import Testing

@Suite struct PrivateFileTests {
    private let folder: TemporaryDirectory
    private let file: PrivateFile

    init() throws {
        folder = try TemporaryDirectory()
        file = PrivateFile(folder.file("file"))
    }

    private func text() throws -> String? {
        guard let found = try file.open(refusing: 0o022) else { return nil }
        return String(decoding: try found.readBytes(100), as: UTF8.self)
    }

    @Test func whatIsWrittenIsThereWhole() throws {
        #expect(try text() == nil)
        try file.write("a", .keeping)
        try file.write("b", .keeping)
        #expect(try text() == "a", "one that is there counts")
        try file.write("c", .replacing)
        #expect(try text() == "c")
        #expect(try FileDescriptor.open(file.path, O_RDONLY).status().st_mode & 0o777 == 0o600)
        #expect(access("\(file.path).\(getpid()).part", F_OK) != 0)
    }

    @Test func whatOthersMayChangeIsRefused() throws {
        try file.write("a", .replacing)
        chmod(file.path, 0o640)
        #expect(try text() == "a")
        let error = #expect(throws: SystemError.self) { _ = try file.open(refusing: 0o077) == nil }
        #expect(error?.code == EPERM)
        chmod(file.path, 0o622)
        #expect(throws: SystemError.self) { try text() }
        unlink(file.path)
        symlink("/etc/passwd", file.path)
        #expect(throws: SystemError.self) { try text() }
    }

    /// Neither at its own name nor at that of the part.
    @Test func nothingIsWrittenThroughLinks() throws {
        for name in [file.path, "\(file.path).\(getpid()).part"] { symlink(folder.file("elsewhere"), name) }
        try file.write("a", .replacing)
        #expect(try text() == "a")
        #expect(access(folder.file("elsewhere"), F_OK) != 0)
    }
}
