package import Time

/// By what a guest is recognized: the SHA-256, in 64 lower-case hexadecimal digits, of a secret of its browser or of its certificate.
package struct GuestKey: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// - Returns: nil for anything that is no such digest: it may come from a file, or from a sender that was taken over.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == 64, rawValue.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }) else {
            return nil
        }
        self.rawValue = rawValue
    }

    package init?(_ text: String) { self.init(rawValue: text) }

    package var description: String { rawValue }
}

/// Somebody who need not knock.
package struct Guest: Sendable, Equatable {
    package let key: GuestKey
    /// What it said of itself; may be empty.
    package let name: String
    /// When it has to knock again, and has no rights any more; nil for never.
    package let until: Instant?

    package init(key: GuestKey, name: String, until: Instant? = nil) {
        (self.key, self.name, self.until) = (key, name, until)
    }
}

/// The guests of a sender: those that it began with, and those let in since. Sans-IO.
struct Guests: Sendable {
    /// Those let in who are remembered.
    private static let mostLetIn = 1000

    private var guests: [GuestKey: Guest] = [:]
    /// In the order of the list.
    private var invited: [GuestKey] = []
    /// The latest come last. Only these are dropped where there are too many.
    private var letIn: [GuestKey] = []

    /// - Parameter invited: of two with one key, the first counts.
    init(_ invited: [Guest]) {
        for guest in invited where guests[guest.key] == nil {
            guests[guest.key] = guest
            self.invited.append(guest.key)
        }
    }

    /// When the first of them is none any more.
    var firstEnd: Instant? { guests.values.compactMap(\.until).min() }

    subscript(_ key: GuestKey?) -> Guest? { key.flatMap { guests[$0] } }

    mutating func letIn(_ guest: Guest) {
        if guests[guest.key] != nil { _ = remove { $0.key == guest.key } }
        guests[guest.key] = guest
        letIn.append(guest.key)
        if letIn.count > Self.mostLetIn { guests[letIn.removeFirst()] = nil }
    }

    /// - Returns: those removed: first those let in, then the invited, each in order.
    mutating func remove(where isMeant: (Guest) -> Bool) -> [Guest] {
        let removed = (letIn + invited).compactMap { guests[$0] }.filter(isMeant)
        for guest in removed { guests[guest.key] = nil }
        letIn.removeAll { guests[$0] == nil }
        invited.removeAll { guests[$0] == nil }
        return removed
    }
}
