import Time

/// The rights of a participant. A new right is a line here, and a question at its door.
package struct Rights: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// To receive pictures, sound, snapshots and the status.
    package static let watch = Rights(rawValue: 1 << 0)
    /// To be heard at the speakers here.
    package static let talk = Rights(rawValue: 1 << 1)
    /// To keep what was shown: to begin clips and replays, and to change what makes a clip.
    package static let record = Rights(rawValue: 1 << 2)
}

/// Why the time of a participant is over.
package enum GrantEnd: Sendable {
    /// Its rights had an end.
    case over
    /// It has not asked for more time.
    case leaseExpired
}

/// Rights with an end.
struct Grant: Equatable, Sendable {
    var rights: Rights
    /// The end; nil for as long as the participant is there, unless they are taken back.
    var until: Instant?
}
