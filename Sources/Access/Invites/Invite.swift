package import Time

/// The SHA-256 of a token, in 64 lower-case hexadecimal digits. Tokens themselves are not kept.
package struct TokenHash: RawRepresentable, Hashable, Codable, Sendable {
    package let rawValue: String

    /// - Returns: nil for any other text.
    package init?(rawValue: String) {
        guard GuestKey(rawValue: rawValue) != nil else { return nil }
        self.rawValue = rawValue
    }
}

/// An invitation: a link of its own, with rights and an end.
package struct Invite: Equatable, Sendable {
    /// The browser that a link for one person belongs to.
    package enum Holder: Equatable, Sendable {
        /// Any number of people may come.
        case anybody
        /// The first one who comes gets it.
        case nobody
        case browser(GuestKey)
        /// A program that cannot be recognized: the link is used up.
        case unknown
    }

    /// Counted up.
    package let number: Int
    /// Names its participants. One line; may be empty.
    package let name: String
    package let token: TokenHash
    package let rights: Rights
    /// By the clock that counts suspends; nil for as long as the sender is there.
    package let end: Instant?
    package internal(set) var holder: Holder

    package init(number: Int, name: String, token: TokenHash, rights: Rights, end: Instant?, holder: Holder) {
        (self.number, self.name, self.token, self.rights) = (number, name, token, rights)
        (self.end, self.holder) = (end, holder)
    }

    /// Whether the link was made for one person.
    package var isForOne: Bool { holder != .anybody }
}

/// What an invitation is made of.
package struct InviteWish: Sendable {
    package var token: TokenHash
    package var name = ""
    package var rights: Rights = [.watch, .hear]
    /// Nil for as long as the sender is there.
    package var length: Duration?
    package var isForOne = false

    package init(token: TokenHash) { self.token = token }
}

package enum InviteRefusal: Error, Equatable, CustomStringConvertible {
    /// There are as many as can be.
    case full(Int)
    /// So many have been made since the start.
    case spent(Int)
    case taken(String)

    package var description: String {
        switch self {
        case .full(let most): "there are \(most) invitations: end some with \"oriel revoke\""
        case .spent(let most): "\(most) invitations were made since the start: begin the broadcast anew"
        case .taken(let name): "there is an invitation for \"\(name)\" already: revoke it first, or give another name"
        }
    }
}
