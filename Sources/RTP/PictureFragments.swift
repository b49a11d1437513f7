/// The payloads of one picture, in order: each a payload descriptor and then a range of the picture's bytes.
package struct PictureFragments: Sequence, IteratorProtocol, Sendable {
    package struct Fragment: Equatable, Sendable {
        /// Where in the picture the payload's bytes lie. Never empty.
        package let range: Range<Int>
        package let isFirst: Bool
        package let isLast: Bool
    }

    /// How many fragments the picture has; their sizes differ by one byte at most.
    package let count: Int
    private let descriptor: PayloadDescriptor
    private let size: Int
    private var index = 0
    private var position = 0

    /// - Parameter room: bytes for a descriptor and its share of the picture.
    init(_ descriptor: PayloadDescriptor, size: Int, room: Int) {
        self.descriptor = descriptor
        self.size = size
        // The first descriptor is the longest. Sparing its length in every packet keeps them even.
        let share = room - descriptor.size(isFirst: true)
        count = (size + share - 1) / share
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

    /// Bytes of the fragment's payload: its descriptor and its share of the picture.
    package func payloadSize(of fragment: Fragment) -> Int {
        descriptor.size(isFirst: fragment.isFirst) + fragment.range.count
    }

    /// Appends the fragment's payload to a packet that holds its header.
    package func write(_ fragment: Fragment, of picture: Span<UInt8>, to packet: inout [UInt8]) {
        descriptor.write(isFirst: fragment.isFirst, isLast: fragment.isLast, to: &packet)
        packet.append(contentsOf: picture.extracting(fragment.range))
    }
}
