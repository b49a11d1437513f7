import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing

/// A broadcast folder of its own, and processes that write to it and read from it.
final class Scene {
    let variant: Variant
    /// Who has a mistake need not be waited for so long.
    let patience: Duration
    private let root: TemporaryDirectory
    let path: String

    init(_ variant: Variant) throws {
        self.variant = variant
        patience = variant.isCorrect ? TestSupport.patience : .seconds(4)
        root = try TemporaryDirectory()
        path = root.file("bridge")
    }

    /// How many times the correct build is tried: so many, or `ORIEL_PROMISE_FACTOR` times as many.
    static func amount(_ usual: Int) -> Int {
        usual * (getenv("ORIEL_PROMISE_FACTOR").flatMap { Int(String(cString: $0)) } ?? 1)
    }

    func directory() throws -> BridgeDirectory { try BridgeDirectory(path: path, create: true) }

    /// Starts a peer of this scene's variant.
    func peer(_ command: String, _ words: String..., environment: [String: String] = [:]) throws -> Subprocess {
        try Subprocess([program] + arguments(command, words), environment: environment.merging(Self.calm) { $1 })
    }

    /// Starts an optimised peer without hooks and mistakes.
    func swiftPeer(_ command: String, _ words: String...) throws -> Subprocess {
        try Subprocess([TestPrograms.bridgePeer] + arguments(command, words))
    }

    var program: String { TestPrograms.bridgePeer(variant.name) }

    func arguments(_ command: String, _ words: [String]) -> [String] {
        [command, path] + (["write", "speak"].contains(command) ? ["storage=\(variant.storage)"] : []) + words
    }

    /// Crashes are expected of some: nobody wants to wait for their backtraces.
    static let calm = ["SWIFT_BACKTRACE": "enable=no"]

    func wait(until what: String, _ condition: () throws -> Bool) throws {
        try TestSupport.wait(until: what, timeout: patience, condition)
    }

    /// Waits for a peer to end well.
    func finish(_ peer: Subprocess, _ what: String = "") throws {
        let exit = try peer.wait(timeout: patience)
        guard exit == .code(0) else { throw Unkept("\(what) ended with \(exit): \(peer.output.suffix(300))") }
    }

    func files() -> [String] {
        guard let folder = try? FileDescriptor.open(path, O_RDONLY | O_DIRECTORY) else { return [] }
        return folder.entries().filter { $0 != "." && $0 != ".." }.sorted()
    }

    /// The file of the sound, or its socket.
    var sound: String? {
        files().first { $0.hasPrefix("sound.") && $0.utf8.count == 22 }.map { "\(path)/\($0)" }
    }

    /// Returns whether the memory of a ring that a writer handed out could be shrunk by somebody else.
    func shrinkMemory(_ ring: String, of writer: Subprocess, to size: Int) throws -> Bool {
        for descriptor in 0..<64 {
            let path = "/proc/\(writer.pid)/fd/\(descriptor)"
            var target = [UInt8](repeating: 0, count: 128)
            let count = readlink(path, &target, target.count)
            let name = String(decoding: target.prefix(max(0, count)), as: UTF8.self)
            if name.contains("memfd:oriel-\(ring)") { return truncate(path, off_t(size)) == 0 }
        }
        throw Unkept("the writer has no memory")
    }

    var frames: String? { files().first { $0.hasPrefix("frames.") }.map { "\(path)/\($0)" } }
}

/// The checksum of headers and slots, bit by bit.
func crc32c(_ bytes: ArraySlice<UInt8>) -> UInt32 {
    var sum = ~UInt32(0)
    for byte in bytes {
        sum ^= UInt32(byte)
        for _ in 0..<8 { sum = sum & 1 == 1 ? sum >> 1 ^ 0x82F6_3B78 : sum >> 1 }
    }
    return ~sum
}

/// What was promised and did not come.
struct Unkept: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

extension Subprocess {
    /// The last number that it printed for a key.
    func value(_ key: String) -> UInt64? {
        outputLines.reversed().lazy.compactMap { Self.words(key, in: $0).last }.first.flatMap { UInt64($0) }
    }

    /// All words that it printed for a key.
    func words(_ key: String) -> [String] { outputLines.flatMap { Self.words(key, in: $0) } }

    private static func words(_ key: String, in line: Substring) -> [String] {
        let start = "\(key)="
        // Characters take several times as long, and there may be thousands of lines.
        return line.utf8.split(separator: UInt8(ascii: " ")).lazy.filter { $0.starts(with: start.utf8) }.map {
            String(Substring($0.dropFirst(start.utf8.count)))
        }
    }
}
