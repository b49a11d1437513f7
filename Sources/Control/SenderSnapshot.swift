package import Media

/// A sender at one instant. Names and units are those of the JSON of `oriel status`: `Bps` is bits a second, `S` seconds.
package struct SenderSnapshot: Codable, Sendable {
    package struct Call: Codable, Sendable {
        package enum State: String, Codable, Sendable {
            /// There was no connection yet.
            case joining
            case standing
            /// The call was lost, or its server is busy. The sender tries again.
            case away
            case ended
        }

        /// In the words of the command line.
        package var name: String
        package var state: State
        /// Seconds in this state.
        package var sinceS: Double
        /// The reason why the call is away, or has ended, for people; absent if it was left.
        package var reason: String?
        /// The exit code of `oriel attach` with this call alone; absent before its end.
        package var exitCode: Int32?
        /// The session description for a receiver of plain RTP.
        package var sdp: String?

        package init(name: String, state: State, sinceS: Double, reason: String? = nil, exitCode: Int32? = nil) {
            (self.name, self.state, self.sinceS) = (name, state, sinceS)
            (self.reason, self.exitCode) = (reason, exitCode)
        }
    }

    package struct Sound: Codable, Sendable, Equatable {
        package var codec = "opus"
        /// The channels of the last packet; 0 before the first.
        package var channels = 0
        /// The bitrate of the packets of the last second.
        package var bitrateBps = 0
        package var targetBps = 0
        package var packets: UInt64 = 0
        /// Blocks of 10 ms that were lost before they were encoded, or came too late.
        package var blocksLost: UInt64 = 0
        /// Whether the last second was silent.
        package var silent = true

        package init() {}
    }

    /// A STUN or TURN server.
    package struct Server: Codable, Sendable {
        package enum State: String, Codable, Sendable {
            case works
            /// It does not answer, or only in another protocol.
            case silent
            case wrongLogin = "wrong_login"
            case refused
        }

        /// The server's name for people, such as `turn:relay.example.net:3478`.
        package var name: String
        package var state: State
        /// Seconds in this state.
        package var sinceS: Double
        /// The sentence on standard error.
        package var reason: String

        package init(name: String, state: State, sinceS: Double, reason: String) {
            (self.name, self.state, self.sinceS, self.reason) = (name, state, sinceS, reason)
        }
    }

    package struct Knock: Codable, Sendable {
        package var id: Int
        /// The viewer's name in its own words; may be empty.
        package var name: String
        /// Its note for the person who answers; may be empty.
        package var note: String
        package var address: String
        package var sinceS: Double

        package init(id: Int, name: String, note: String, address: String, sinceS: Double) {
            (self.id, self.name, self.note, self.address, self.sinceS) = (id, name, note, address, sinceS)
        }
    }

    /// A link with rights of its own.
    package struct Invite: Codable, Sendable {
        package var id: Int
        /// May be empty.
        package var name: String
        /// Such as `watch`.
        package var rights: [String]
        /// Seconds until its end; absent if it holds as long as the sender is there.
        package var leftS: Double?
        /// True if it is for one person; absent otherwise.
        package var once: Bool?
        /// Whether that person has come; absent if it is for anybody.
        package var taken: Bool?
        /// The viewers that came by it.
        package var viewers: [ParticipantID]

        package init(
            id: Int,
            name: String,
            rights: [String],
            leftS: Double?,
            taken: Bool?,
            viewers: [ParticipantID]
        ) {
            (self.id, self.name, self.rights, self.leftS) = (id, name, rights, leftS)
            (once, self.taken, self.viewers) = (taken.map { _ in true }, taken, viewers)
        }
    }

    /// The limit of the picture's quality or delay.
    package enum Limit: String, Codable, Sendable {
        /// The picture does not change.
        case still
        /// Encoding takes all of a core.
        case processor
        /// Viewers' links carry less than the set bitrate.
        case link
    }

    /// The work of the encoders in the last second.
    package struct Work: Sendable {
        /// Of the last frame, 0 (best) to 63; nil before the first.
        package var quantizer: Int?
        package var limit: Limit?
        /// Nil while nobody gets it.
        package var sound: Sound?

        package init() {}
    }

    /// The calls that are not over, and the last ones that are.
    package var calls: [Call]
    /// The target of rate control, in bits a second.
    package var bitrateBps: Int
    /// The quantizer of the last frame, 0 (best) to 63; absent before the first second is over.
    package var quantizer: Int?
    /// Absent if only the bitrate limits the picture.
    package var limit: Limit?
    /// The broadcast's sound; absent while nobody gets it.
    package var sound: Sound?
    package var viewers: [ViewerSnapshot]
    /// The STUN and TURN servers that do not work; absent if there are none.
    package var servers: [Server]?
    /// The viewers that wait to be let in; absent without `--accept ask` or `known`.
    package var knocks: [Knock]?
    /// The part of the source that all see: x1, y1, x2 and y2 in its pixels; absent for the whole.
    package var viewport: [Int]?
    /// Whether dark pictures are brightened; absent for `off`.
    package var legibility: Legibility?
    /// What viewers can do; absent where there is no page.
    package var capabilities: Capabilities?
    /// Messages for a program where there is none; absent for none.
    package var messagesIgnored: Int?
    /// Where pages are served, as people open it, without the secret; absent if none are.
    package var links: [String]?
    /// Absent if there are none.
    package var invites: [Invite]?

    package init(calls: [Call], bitrateBps: Int, viewers: [ViewerSnapshot]) {
        (self.calls, self.bitrateBps, self.viewers) = (calls, bitrateBps, viewers)
    }
}
