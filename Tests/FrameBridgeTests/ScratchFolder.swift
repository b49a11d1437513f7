import FrameBridge
import Glibc
import Posix
import TestSupport

/// A private folder of its own for one test, removed afterwards.
final class ScratchFolder: Sendable {
    let root: String
    let path: String

    init() {
        var template = Array("/tmp/oriel-test.XXXXXX".utf8CString)
        root = template.withUnsafeMutableBufferPointer { String(cString: mkdtemp($0.baseAddress!)) }
        path = root + "/bridge"
    }

    deinit {
        for name in files() { unlink("\(path)/\(name)") }
        for name in files() { rmdir("\(path)/\(name)") }
        rmdir(path)
        rmdir(root)
    }

    func bridge() throws -> BridgeDirectory { try BridgeDirectory(path: path, create: true) }

    func files() -> [String] {
        guard let folder = try? FileDescriptor.open(path, O_RDONLY | O_DIRECTORY) else { return [] }
        return folder.entries().filter { $0 != "." && $0 != ".." }
    }

    func framesFile() -> String? { files().first { $0.hasPrefix("frames.") }.map { "\(path)/\($0)" } }

    func write(_ name: String, _ bytes: [UInt8], mode: mode_t = 0o600) {
        let file = open("\(path)/\(name)", O_WRONLY | O_CREAT | O_TRUNC, mode)
        _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        fchmod(file, mode)
        close(file)
    }

    /// Changes bytes of the frames file in place.
    func patch(_ bytes: [UInt8], at offset: Int) {
        let file = open(framesFile()!, O_WRONLY)
        _ = bytes.withUnsafeBytes { pwrite(file, $0.baseAddress, $0.count, off_t(offset)) }
        close(file)
    }
}

/// The writer after one that is gone. A program that another test starts has its lock until it runs.
func takeOver(_ directory: BridgeDirectory) throws -> FrameWriter {
    try wait(until: "the lock is free") { try !directory.hasWriter() }
    return try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
}
