package import Access
package import WebRTC

/// Somebody who comes with an offer.
package struct Newcomer: Sendable {
    package let address: String
    /// Its own name, or that by which it was invited; may be empty.
    package var name = ""
    /// Identifies it later; nil if nothing does.
    package var key: GuestKey?
    package var link = AccessEngine.Link.common
    /// Whether it asks for candidates that are found after the answer.
    package var trickles = false
    /// The seconds for which it asks, within `Lease.lengths`; nil if it does not ask.
    package var lease: Int?

    package init(from address: String) { self.address = address }
}

package struct Admission: Sendable {
    /// Names the viewer's session; cannot be guessed.
    package let id: String
    /// The session description for the viewer.
    package let answer: String
    /// The generation of its ICE credentials, as an entity tag without quotation marks.
    package let generation: String
    /// The seconds of its lease; nil if it may stay as long as it likes.
    package let lease: Int?
}

package enum Refusal: Error, Equatable, CustomStringConvertible {
    case full(limit: Int)
    /// Too many came from one network.
    case tooMany
    case malformed(MalformedSDP)
    case unacceptable(UnacceptableOffer)
    /// It was not read, as too many offers of one network were useless; seconds until one is read.
    case unread(retryAfter: Int)
    /// No UDP port is free, or the machine has no address.
    case noTransport
    /// Media goes by relays alone, and none works.
    case noRelay
    /// The viewer was sent away before it was let in.
    case kicked
    /// Its lease has ended before it was let in.
    case expired
    /// Its invitation is over.
    case revoked
    case closed

    package var description: String {
        switch self {
        case .full(let limit): "there are \(limit) viewers already, and no more are let in: try again later"
        case .tooMany: "too many viewers came from there: try again later"
        case .malformed(let error): "\(error)"
        case .unacceptable(let error): "\(error)"
        case .unread: "too many requests from there made no sense: try again later"
        case .noTransport: "no UDP port is free for another one: try again later"
        case .noRelay: "media goes by TURN servers alone here, and none of them works: try again later"
        case .kicked: "this viewer was sent away"
        case .expired: "the time of this view is over: begin another one"
        case .revoked: "this link is over: ask for a new one"
        case .closed: "the broadcast is ending"
        }
    }
}

/// The ICE credentials for which a fragment is meant (RFC 9725 §4.3.1).
package enum FragmentCondition: Sendable, Equatable {
    /// Those of this generation.
    case generation(String)
    /// Any: new ones ask for a restart.
    case any
    /// The request does not say: then a fragment must give the credentials in use.
    case unsaid

    /// - Parameter field: the value of `If-Match`.
    init(_ field: String?) {
        switch field {
        case nil: self = .unsaid
        case "*", "\"*\"": self = .any
        case let tag?: self = .generation(tag.filter { $0 != "\"" })
        }
    }
}

/// The result of candidates or credentials that a viewer has sent later.
package enum TrickleOutcome: Sendable, Equatable {
    case unknownViewer
    case malformed(MalformedSDP)
    /// The fragment belongs to another generation than the current one.
    case outdated
    /// The fragment does not say to which generation it belongs.
    case unconditional
    /// Too many restarts came from one network.
    case tooMany
    case added
    /// Further candidates of this side, in a fragment for the viewer.
    case found(fragment: String)
    /// A new generation, and the fragment for the viewer.
    case restarted(generation: String, fragment: String)
}
