import Pairing
import Sodium

/// A call between pairs, on both sides: 16 random bytes. Of two that cross, the lower one counts.
package struct CallID: Hashable, Comparable, Sendable, CustomStringConvertible {
    package static let length = 16

    package let bytes: [UInt8]

    package static func random() -> CallID { CallID(bytes: Randomness.bytes(length))! }

    /// - Returns: nil for another length.
    package init?(bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        if self.bytes.count != Self.length { return nil }
    }

    package static func < (one: CallID, other: CallID) -> Bool { one.bytes.lexicographicallyPrecedes(other.bytes) }

    package var description: String { bytes.hexadecimal }
}
