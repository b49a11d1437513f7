import ArgumentParser
import Glibc
import Posix

/// Reads the authority file of an X server each time that it gets a byte, and writes its length, four bytes in network order, and its
/// bytes. Without a file, the length is 0. It ends with standard input.
struct AuthorityReader: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "authority",
        abstract: "Read the X server's authority file whenever asked.",
        shouldDisplay: false
    )

    /// In bytes; a cookie takes about fifty.
    static let longest = 1 << 20

    @Argument var path: String

    func run() throws {
        // Another file may be moved to its place, in its folder and where its link leads to now.
        let paths = [path, Self.target(of: path)].compactMap(\.self)
        let folders = paths.map(Self.folder).filter { access($0, F_OK) == 0 }
        let sandbox = Sandbox(writable: nil, readable: folders, socketFamilies: [])
        // The capture process says what the kernel does not offer.
        try enterSandbox { _ throws(SystemError) in try sandbox.enter { _ in } }
        var byte: UInt8 = 0
        while read(0, &byte, 1) == 1 {
            let bytes = Self.contents(of: path)
            let length = withUnsafeBytes(of: UInt32(bytes.count).bigEndian) { Array($0) }
            guard Self.write(length + bytes) else { return }
        }
    }

    /// Empty where there is no such file, or a longer one.
    static func contents(of path: String) -> [UInt8] {
        guard let raw = try? check("open", { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }) else { return [] }
        let bytes = try? FileDescriptor(taking: raw).readBytes(longest + 1)
        return bytes.flatMap { $0.count <= longest ? $0 : nil } ?? []
    }

    private static func write(_ bytes: [UInt8]) -> Bool {
        var rest = bytes[...]
        while !rest.isEmpty {
            let count = try? check("write") { rest.withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) } }
            guard let count else { return false }
            rest = rest.dropFirst(count)
        }
        return true
    }

    private static func target(of path: String) -> String? {
        guard let target = realpath(path, nil) else { return nil }
        defer { free(target) }
        return String(cString: target)
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}
