import Posix

/// Lines as they come in pieces. Sans-IO, but for `read`.
package struct LineReader: Sendable {
    package enum Piece: Equatable, Sendable {
        /// The lines that are whole now, which may be none, without their ends. Bytes that are no UTF-8 are replaced.
        case lines([String])
        /// Nothing has come.
        case nothing
        /// Nothing will come.
        case end
    }

    private let longest: Int
    private var bytes: [UInt8] = []

    /// - Parameter longest: bytes that a line may have without its end, of those that come in several pieces.
    package init(longest: Int) { self.longest = longest }

    /// Whether more has come of a line than it may have: end it there, or forget it.
    package var isTooLong: Bool { bytes.count > longest }

    /// Takes what has come, and returns the lines that are whole.
    package mutating func take(_ more: some Collection<UInt8>) -> [String] {
        bytes += more
        var lines: [String] = []
        while let end = bytes.firstIndex(of: UInt8(ascii: "\n")) {
            lines.append(String(decoding: bytes[..<end], as: UTF8.self))
            bytes.removeSubrange(...end)
        }
        return lines
    }

    /// Forgets what has come of the next line.
    package mutating func forget() { bytes = [] }

    /// Reads what is there.
    ///
    /// - Parameters:
    ///   - descriptor: one that does not wait.
    ///   - limit: bytes that are read at the most.
    /// - Throws: `SystemError` if the descriptor is of no use any more.
    package mutating func read(from descriptor: Int32, limit: Int = 4096) throws -> Piece {
        var chunk = [UInt8](repeating: 0, count: limit)
        let count = try chunk.withUnsafeMutableBytes { try readAvailable(from: descriptor, into: $0) }
        guard let count else { return .nothing }
        return count == 0 ? .end : .lines(take(chunk[..<count]))
    }
}
