/// A way in which devices are found.
package enum Driver: String, CaseIterable, Codable, Sendable {
    /// DNS service discovery (RFC 6763), by Avahi.
    case dnssd
    case beacon
    /// Typed, photographed, or where a pair was last reached.
    case address
    /// A room at a rooms server whose name only a pair can derive.
    case room
}

/// What one driver knows of one device. It was heard of; whether it can be reached, only a link tells.
package struct Sighting: Equatable, Sendable {
    package var announcement: Announcement
    /// As the device calls itself; anything may be in it, and it may be empty.
    package var name: String
    /// The best one first.
    package var endpoints: [Endpoint]

    package init(_ announcement: Announcement, name: String, endpoints: [Endpoint]) {
        (self.announcement, self.name, self.endpoints) = (announcement, name, endpoints)
    }
}

/// News of a driver.
package enum SightingNews: Equatable, Sendable {
    /// A new device, or another state of a known one.
    case seen(Sighting)
    /// By its instance.
    case lost([UInt8])
}
