/// The payloads of one picture, in order, each with its share of the picture's bytes.
package struct PictureFragments: Sequence, IteratorProtocol, Sendable {
    package struct Fragment: Equatable, Sendable {
        /// The range of this payload within the bytes that go into payloads. Never empty.
        package let range: Range<Int>
        package let isFirst: Bool
        package let isLast: Bool
    }

    /// How many fragments the picture has; their sizes differ by one byte at most.
    package let count: Int
    let format: PayloadFormat
    private let size: Int
    private var index = 0
    private var position = 0

    /// - Parameters:
    ///   - size: bytes of the picture.
    ///   - room: bytes of a payload at most.
    init(_ format: PayloadFormat, size: Int, room: Int) {
        self.format = format
        self.size = format.size(ofPicture: size)
        let share = format.share(ofPayload: room)
        count = (self.size + share - 1) / share
    }

    package mutating func next() -> Fragment? {
        guard index < count else { return nil }
        let left = count - index
        let length = (size - position + left - 1) / left
        defer {
            index += 1
            position += length
        }
        return Fragment(range: position..<position + length, isFirst: index == 0, isLast: left == 1)
    }
}
