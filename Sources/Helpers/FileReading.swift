import Glibc
import Posix

/// The process behind `NamedFiles`. It reads files each time that it gets a byte, and writes them as `FileAnswers`. It ends with
/// standard input.
package enum FileReading {
    /// Bytes of a file that is read.
    private static let longest = 256 * 1024

    package static func run(_ paths: [String]) throws {
        // What a name leads to may change; where its link leads to now is read too.
        let names = paths + paths.compactMap(realPath)
        let folders = names.map(folder(ofFile:)).filter { access($0, F_OK) == 0 }
        let sandbox = Sandbox(writable: nil, readable: folders, socketFamilies: [])
        // The process that started it says what the kernel does not offer.
        try enterSandbox { _ throws(SystemError) in try sandbox.enter { _ in } }
        let output = FileDescriptor(taking: 1)
        var number: UInt8 = 0
        while read(0, &number, 1) == 1 {
            let answer = FileAnswers.bytes(number, paths.map(content))
            guard (try? output.writeAll(answer)) != nil else { return }
        }
    }

    /// Nil where it cannot be read, or is too long.
    package static func content(of path: String) -> [UInt8]? {
        guard let descriptor = try? check("open", { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }) else { return nil }
        let bytes = try? FileDescriptor(taking: descriptor).readBytes(longest + 1)
        return bytes.flatMap { $0.count <= longest ? $0 : nil }
    }
}

/// What a path leads to; nil if that is nothing.
package func realPath(_ path: String) -> String? {
    guard let text = realpath(path, nil) else { return nil }
    defer { free(text) }
    return String(cString: text)
}

/// The folder of a path; the present one for a mere name.
package func folder(ofFile path: String) -> String {
    guard let slash = path.lastIndex(of: "/") else { return "." }
    return slash == path.startIndex ? "/" : String(path[..<slash])
}
