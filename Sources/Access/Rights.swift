import Time

/// The rights of a participant. A new right is a line here, with its name, and a question at its door.
package struct Rights: OptionSet, Hashable, Sendable {
    package let rawValue: UInt16

    package init(rawValue: UInt16) { self.rawValue = rawValue }

    /// To receive pictures, snapshots and the status.
    package static let watch = Rights(rawValue: 1 << 0)
    /// To be heard at the speakers here.
    package static let talk = Rights(rawValue: 1 << 1)
    /// To keep what was shown: to begin clips and replays, and to change what makes a clip.
    package static let record = Rights(rawValue: 1 << 2)
    /// To receive sound.
    package static let hear = Rights(rawValue: 1 << 3)
    /// To change what all see.
    package static let controls = Rights(rawValue: 1 << 4)

    /// In the order in which people read them.
    private static let named: [(name: String, right: Rights)] = [
        ("watch", .watch), ("hear", .hear), ("talk", .talk), ("controls", .controls), ("record", .record),
    ]

    package static var all: Rights { named.reduce(into: []) { $0.insert($1.right) } }
    package static var allNames: [String] { named.map(\.name) }

    package var names: [String] { Self.named.filter { contains($0.right) }.map(\.name) }

    /// - Returns: nil for a name that there is not.
    package init?(names: some Sequence<String>) {
        self = []
        for name in names {
            guard let known = Self.named.first(where: { $0.name == name }) else { return nil }
            insert(known.right)
        }
    }
}

/// Why the time of a participant is over.
package enum GrantEnd: Sendable {
    /// Its rights had an end.
    case over
    /// Its invitation is over, or was taken back.
    case revoked
    /// It has not asked for more time.
    case leaseExpired
}

/// Rights with an end.
struct Grant: Equatable, Sendable {
    var rights: Rights
    /// The end; nil for as long as the participant is there, unless they are taken back.
    var until: Instant?
}
