package import Time

/// Identifies a guest: the SHA-256, in 64 lower-case hexadecimal digits, of a secret of its browser or of its
/// certificate.
package struct GuestKey: RawRepresentable, Hashable, Codable, Sendable, CustomStringConvertible {
    package let rawValue: String

    /// - Returns: nil for any other text. It may come from a file, or from a sender that was taken over.
    package init?(rawValue: String) {
        guard rawValue.utf8.count == 64, rawValue.utf8.allSatisfy({ 0x30...0x39 ~= $0 || 0x61...0x66 ~= $0 }) else {
            return nil
        }
        self.rawValue = rawValue
    }

    package var description: String { rawValue }
}

/// A person who need not knock.
package struct Guest: Sendable, Equatable {
    package let key: GuestKey
    /// The name given by the guest; may be empty.
    package let name: String
    /// The end of its rights; nil for never. It has to knock again then.
    package let until: Instant?

    package init(key: GuestKey, name: String, until: Instant? = nil) {
        (self.key, self.name, self.until) = (key, name, until)
    }
}

/// The guests of a sender: a list from its start, and people let in since. Sans-IO.
struct Guests: Sendable {
    /// The most people let in that are remembered.
    private static let mostLetIn = 1000

    private var guests: [GuestKey: Guest] = [:]
    /// In the order of the list.
    private var invited: [GuestKey] = []
    /// The latest come last. If there are too many, only these are dropped.
    private var letIn: [GuestKey] = []

    /// - Parameter invited: the first of two with one key counts.
    init(_ invited: [Guest]) {
        for guest in invited where guests[guest.key] == nil {
            guests[guest.key] = guest
            self.invited.append(guest.key)
        }
    }

    /// The earliest end of a guest's rights.
    var firstEnd: Instant? { guests.values.compactMap(\.until).min() }

    subscript(_ key: GuestKey?) -> Guest? { key.flatMap { guests[$0] } }

    mutating func letIn(_ guest: Guest) {
        if guests[guest.key] != nil { _ = remove { $0.key == guest.key } }
        guests[guest.key] = guest
        letIn.append(guest.key)
        if letIn.count > Self.mostLetIn { guests[letIn.removeFirst()] = nil }
    }

    /// - Returns: the removed guests: first those let in, then the invited, each in order.
    mutating func remove(where isMeant: (Guest) -> Bool) -> [Guest] {
        let removed = (letIn + invited).compactMap { guests[$0] }.filter(isMeant)
        for guest in removed { guests[guest.key] = nil }
        letIn.removeAll { guests[$0] == nil }
        invited.removeAll { guests[$0] == nil }
        return removed
    }
}
