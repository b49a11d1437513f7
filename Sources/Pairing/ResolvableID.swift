import Sodium

/// The identity in an announcement: only devices with the resolving key recognise it, and two of one device have nothing in common
/// for all others. Bluetooth's resolvable private addresses do the same (Core 5.4, Vol 6 Part B §1.3.2.2). It is of one announcement:
/// in another one it is of nobody.
package struct ResolvableID: Equatable, Sendable {
    package static let length = 16
    private static let half = 8

    package let bytes: [UInt8]

    /// A fresh one.
    ///
    /// - Parameter instance: of the announcement.
    package init(key: [UInt8], instance: [UInt8]) {
        let random = Randomness.bytes(Self.half)
        bytes = random + Self.mac(key, random, instance)
    }

    /// - Returns: nil for another length.
    package init?(bytes: some Sequence<UInt8>) {
        self.bytes = Array(bytes)
        if self.bytes.count != Self.length { return nil }
    }

    package func isOf(key: [UInt8], instance: [UInt8]) -> Bool {
        Hash.areEqual(Array(bytes.suffix(Self.half)), Self.mac(key, Array(bytes.prefix(Self.half)), instance))
    }

    private static func mac(_ key: [UInt8], _ random: [UInt8], _ instance: [UInt8]) -> [UInt8] {
        Array(Hash.hmacSHA256(key: key, random + instance).prefix(half))
    }
}
