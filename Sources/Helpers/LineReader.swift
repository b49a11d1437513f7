import Posix

/// Splits pieces of text into lines. Sans-IO, except for `read`.
package struct LineReader: Sendable {
    package enum Piece: Equatable, Sendable {
        /// The complete lines without their ends, perhaps none. Invalid UTF-8 is replaced.
        case lines([String])
        /// There is nothing to read yet.
        case nothing
        /// There is nothing more to read.
        case end
    }

    private let longest: Int
    private var bytes: [UInt8] = []

    /// - Parameter longest: the most bytes of a line without its end, if it comes in several pieces.
    package init(longest: Int) { self.longest = longest }

    /// Whether the present line exceeds the limit. End it there, or forget it.
    package var isTooLong: Bool { bytes.count > longest }

    /// Adds a piece, and returns the complete lines.
    package mutating func take(_ more: some Collection<UInt8>) -> [String] {
        bytes += more
        var lines: [String] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: bytes[..<end], as: UTF8.self))
            bytes.removeSubrange(...end)
        }
        return lines
    }

    /// Drops the present line.
    package mutating func forget() { bytes = [] }

    /// Reads a piece.
    ///
    /// - Parameters:
    ///   - descriptor: a non-blocking one.
    ///   - limit: the most bytes to read.
    /// - Throws: `SystemError` if the descriptor is unusable.
    package mutating func read(from descriptor: Int32, limit: Int = 4096) throws -> Piece {
        var chunk = [UInt8](repeating: 0, count: limit)
        let count = try chunk.withUnsafeMutableBytes { try readAvailable(from: descriptor, into: $0) }
        guard let count else { return .nothing }
        return count == 0 ? .end : .lines(take(chunk[..<count]))
    }
}
