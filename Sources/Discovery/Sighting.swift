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

/// What one driver knows of one device, from one place. It was heard of; whether it can be reached, only a link tells.
package struct Sighting: Equatable, Sendable {
    package var announcement: Announcement
    /// The place: an address, or an interface. Another place may say something else of the same device.
    package let source: String
    /// As the device calls itself; anything may be in it, and it may be empty.
    package var name: String
    /// The best one first.
    package var endpoints: [Endpoint]

    package init(_ announcement: Announcement, from source: String, name: String, endpoints: [Endpoint]) {
        (self.announcement, self.source, self.name, self.endpoints) = (announcement, source, name, endpoints)
    }
}

/// News of a driver.
package enum SightingNews: Equatable, Sendable {
    /// A new device, or another state of a known one.
    case seen(Sighting)
    /// By its instance, and the place.
    case lost([UInt8], source: String)
}
