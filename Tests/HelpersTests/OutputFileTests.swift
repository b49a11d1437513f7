import Glibc
import Posix
import TestSupport
import Testing

@testable import Helpers

/// Files that a person names, in folders that others may write.
@Suite struct OutputFileTests {
    private let folder: TemporaryDirectory

    init() throws { folder = try TemporaryDirectory() }

    private func text(_ name: String) throws -> String {
        String(decoding: try FileDescriptor.open(folder.file(name), O_RDONLY).readBytes(1 << 10), as: UTF8.self)
    }

    @Test func aFileIsMadeOrContinued() throws {
        try OutputFile.open(folder.file("log"), O_APPEND).write("a")
        try OutputFile.open(folder.file("log"), O_APPEND).write("b")
        #expect(try text("log") == "ab")
        try OutputFile.open(folder.file("log"), O_TRUNC).write("c")
        #expect(try text("log") == "c")
        let info = try FileDescriptor.open(folder.file("log"), O_RDONLY).status()
        #expect(info.st_mode & 0o777 == 0o600)
        let failure = #expect(throws: SystemError.self) { _ = try OutputFile.open(folder.file("none/log"), O_APPEND) }
        #expect(failure?.code == ENOENT)
    }

    /// A link that somebody put there says where a file of this user would be made.
    /// Invariant: confined.
    @Test func aLinkIsFollowedOnlyToAFileThatIsThere() throws {
        symlink(folder.file("mine"), folder.file("link"))
        let failure = #expect(throws: SystemError.self) { _ = try OutputFile.open(folder.file("link"), O_APPEND) }
        #expect(failure?.code == ELOOP)
        #expect(access(folder.file("mine"), F_OK) != 0)
        try OutputFile.open(folder.file("mine"), O_APPEND).write("a")
        try OutputFile.open(folder.file("link"), O_APPEND).write("b")
        #expect(try text("mine") == "ab")
    }

    @Test func aFileIsReplacedInOneStepAndNotThroughALink() throws {
        try OutputFile.open(folder.file("mine"), O_APPEND).write("mine")
        let path = folder.file("picture")
        let part = "\(path).\(getpid()).part"
        for (before, after) in [(nil, "first"), ("first", "second")] {
            symlink(folder.file("mine"), part)
            try OutputFile.replace(path) { file in
                try file.write(after)
                #expect((try? text("picture")) == before)
            }
            #expect(try text("picture") == after)
        }
        #expect(throws: Failure.self) { try OutputFile.replace(path) { _ in throw SystemError("write", code: ENOSPC) } }
        #expect(try text("picture") == "second" && text("mine") == "mine")
        #expect(access(part, F_OK) != 0)
    }

    /// As `/dev/stdout` is one.
    @Test func aPipeBehindALinkIsWrittenTo() throws {
        mkfifo(folder.file("pipe"), 0o600)
        symlink(folder.file("pipe"), folder.file("link"))
        let reader = try FileDescriptor.open(folder.file("pipe"), O_RDONLY | O_NONBLOCK)
        try OutputFile.replace(folder.file("link")) { file in try file.write("text") }
        var bytes = [UInt8](repeating: 0, count: 16)
        let count = try bytes.withUnsafeMutableBytes { try readAvailable(from: reader.raw, into: $0) }
        #expect(count == 4)
        let info = try FileDescriptor.open(folder.file("pipe"), O_RDONLY | O_NONBLOCK).status()
        #expect(info.st_mode & S_IFMT == S_IFIFO)
    }
}
