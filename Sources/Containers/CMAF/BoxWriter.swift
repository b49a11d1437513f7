/// Boxes of the ISO base media file format (ISO/IEC 14496-12 §4.2), one after the other.
package struct BoxWriter {
    package private(set) var bytes: [UInt8] = []

    package init() {}

    /// - Parameter type: four characters.
    package mutating func box(_ type: String, _ content: (inout BoxWriter) -> Void) {
        let start = bytes.count
        number(0, count: 4)
        text(type)
        content(&self)
        patchSize(at: start)
    }

    /// A box with a version and flags.
    package mutating func fullBox(
        _ type: String,
        version: UInt8 = 0,
        flags: UInt32 = 0,
        _ content: (inout BoxWriter) -> Void
    ) {
        box(type) { box in
            box.number(UInt64(version) << 24 | UInt64(flags), count: 4)
            content(&box)
        }
    }

    package mutating func text(_ text: String) {
        bytes += text.utf8
    }

    /// A number, most significant byte first.
    package mutating func number(_ value: UInt64, count: Int) {
        for index in (0..<count).reversed() { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
    }

    package mutating func zeros(_ count: Int) { bytes += [UInt8](repeating: 0, count: count) }

    package mutating func append(_ more: some Sequence<UInt8>) { bytes += more }

    /// Writes a number of four bytes over those at a place.
    package mutating func patch(_ value: Int, at place: Int) {
        for index in 0..<4 { bytes[place + index] = UInt8(truncatingIfNeeded: value >> (8 * (3 - index))) }
    }

    private mutating func patchSize(at start: Int) { patch(bytes.count - start, at: start) }
}
