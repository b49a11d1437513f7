/// A datagram by which devices find each other without mDNS: UDP port 53390 to 239.255.83.90 and ff12::5390, one hop, and to the
/// broadcast addresses of the own networks. Numbers are big-endian.
///
/// ```
/// "ORIEL" | version u8=1 | kind u8 | port u16 | length u8 | name | for each string of the announcement: length u8 | string
/// ```
package struct Beacon: Equatable, Sendable {
    package enum Kind: UInt8, Sendable, CaseIterable {
        case announcement = 1
        /// All are asked to announce themselves to the sender of this. No string follows, and no name.
        case query
        /// The device goes.
        case goodbye
    }

    package static let port: UInt16 = 53390
    package static let group4 = "239.255.83.90"
    package static let group6 = "ff12::5390"
    /// Of a datagram, in bytes.
    package static let longest = 512
    /// Of a name, in UTF-8.
    package static let longestName = 60

    private static let magic = Array("ORIEL".utf8)
    private static let version: UInt8 = 1

    package let kind: Kind
    /// Where the device takes links, over TCP.
    package let port: UInt16
    /// As the device calls itself; empty from one that only its pairs may know.
    package let name: String
    /// Nil for a query.
    package let announcement: Announcement?

    package static let query = Beacon(kind: .query, port: 0, name: "", announcement: nil)

    /// - Parameter name: shortened to `longestName`.
    package static func of(_ announcement: Announcement, name: String, port: UInt16, isLast: Bool = false) -> Beacon {
        var name = name
        while name.utf8.count > longestName { name.removeLast() }
        return Beacon(kind: isLast ? .goodbye : .announcement, port: port, name: name, announcement: announcement)
    }

    private init(kind: Kind, port: UInt16, name: String, announcement: Announcement?) {
        (self.kind, self.port, self.name, self.announcement) = (kind, port, name, announcement)
    }

    package var bytes: [UInt8] {
        let name = Array(name.utf8)
        var bytes = Self.magic + [Self.version, kind.rawValue, UInt8(port >> 8), UInt8(truncatingIfNeeded: port)]
        bytes += [UInt8(name.count)] + name
        for string in announcement?.strings ?? [] { bytes += [UInt8(string.utf8.count)] + Array(string.utf8) }
        return bytes
    }

    /// - Returns: nil if the bytes are not a beacon of this version.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.longest, bytes.starts(with: Self.magic) else { return nil }
        var rest = Array(bytes)[Self.magic.count...]
        guard rest.popFirst() == Self.version, let kind = rest.popFirst().flatMap(Kind.init),
            let high = rest.popFirst(),
            let low = rest.popFirst(), let length = rest.popFirst(), length <= Self.longestName, rest.count >= length,
            let name = String(validating: rest.prefix(Int(length)), as: UTF8.self)
        else { return nil }
        rest = rest.dropFirst(Int(length))
        var strings: [[UInt8]] = []
        while let length = rest.popFirst() {
            guard rest.count >= length else { return nil }
            strings.append(Array(rest.prefix(Int(length))))
            rest = rest.dropFirst(Int(length))
        }
        let port = UInt16(high) << 8 | UInt16(low)
        switch kind {
        case .query:
            self = .query
        case .announcement, .goodbye:
            guard port != 0, let announcement = Announcement(strings: strings) else { return nil }
            self.init(kind: kind, port: port, name: name, announcement: announcement)
        }
    }
}
