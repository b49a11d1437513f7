import Posix

/// Splits pieces of text into lines. Sans-IO, except for `read`.
package struct LineReader: Sendable {
    private let longest: Int
    private var bytes: [UInt8] = []
    /// Whether `read` has met the end.
    package private(set) var hasEnded = false

    /// - Parameter longest: the most bytes of a line without its end, if it comes in several pieces.
    package init(longest: Int) { self.longest = longest }

    /// Whether the present line exceeds the limit. End it there, or forget it.
    package var isTooLong: Bool { bytes.count > longest }

    /// Adds a piece, and returns the complete lines without their ends. Invalid UTF-8 is replaced.
    package mutating func take(_ more: some Collection<UInt8>) -> [String] {
        bytes += more
        var lines: [String] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: bytes[..<end], as: UTF8.self))
            bytes.removeSubrange(...end)
        }
        return lines
    }

    package mutating func forget() { bytes = [] }

    /// The bytes of the present line, which is then forgotten.
    package mutating func takeRest() -> [UInt8] {
        defer { bytes = [] }
        return bytes
    }

    /// Reads a piece, and returns the complete lines.
    ///
    /// - Parameters:
    ///   - descriptor: a non-blocking one.
    ///   - limit: the most bytes to read.
    /// - Throws: `SystemError` if the descriptor is unusable.
    package mutating func read(from descriptor: Int32, limit: Int = 4096) throws -> [String] {
        var chunk = [UInt8](repeating: 0, count: limit)
        let count = try chunk.withUnsafeMutableBytes { try readAvailable(from: descriptor, into: $0) }
        hasEnded = count == 0
        return take(chunk[..<(count ?? 0)])
    }
}
