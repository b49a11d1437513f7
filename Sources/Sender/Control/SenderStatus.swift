package import Media

/// The status of a sender, as `oriel status` tells it.
package struct SenderStatus: Codable, Sendable {
    /// One call. Names and units are those of the command's JSON.
    package struct Call: Codable, Sendable {
        package enum State: String, Codable, Sendable {
            /// It has not been there yet.
            case joining
            case standing
            /// It was lost, or there is no room for it yet, and is tried again.
            case away
            case ended
        }

        /// As the command line names it.
        package var name: String
        package var state: State
        /// Seconds since it is so.
        package var sinceS: Double
        /// Why it is away, or has ended; absent where it was left.
        package var reason: String?
        /// That of `oriel attach` with this call alone; absent before its end.
        package var exitCode: Int32?
        /// What a receiver of plain RTP opens.
        package var sdp: String?

        package init(name: String, state: State, sinceS: Double, reason: String? = nil, exitCode: Int32? = nil) {
            (self.name, self.state, self.sinceS) = (name, state, sinceS)
            (self.reason, self.exitCode) = (reason, exitCode)
        }
    }

    /// Somebody who gets the picture, in any call. Names and units are those of the command's JSON.
    package struct Viewer: Codable, Sendable {
        package var id = 0
        /// The name of the call.
        package var call = ""
        package var address = ""
        /// What it said of itself; absent if it did not.
        package var name: String?
        /// Seconds since it joined.
        package var sinceS = 0.0
        package var pictures = Pictures.sent
        /// Of what it gets; empty if that is nothing.
        package var codec = ""
        /// 1 for what viewers with good links get; more for the encodes of worse ones.
        package var rendition: Int?
        package var state = ""
        package var bitrateBps = 0
        /// What its link carries; absent where nothing tells.
        package var estimateBps: Int?
        /// The target of its encoder, as the links allow it.
        package var targetBps: Int?
        /// How long the last of what waits for it has to wait.
        package var queueMs: Double?
        package var rttMs: Double?
        package var lossRatio: Double?
        package var framesSent: UInt64 = 0
        /// Of the sound that it gets, and how much of that was lost; absent where it gets none.
        package var soundBps: Int?
        package var soundLossRatio: Double?
        package var nacks: UInt64 = 0
        package var plis: UInt64 = 0
        package var srtp: String?
        package var path: String?
        /// What it may say here.
        package var talk = TalkState.off
        /// How it is heard; absent if it is not.
        package var voice: Voice?

        package init() {}
    }

    /// What is heard of somebody.
    package struct Voice: Codable, Sendable {
        /// 0 for a tone of full scale; absent for nothing at all.
        package var levelDb: Double?
        /// The part of the packets that did not come in time.
        package var lossRatio: Double
        /// The part of the sound that was made up.
        package var concealedRatio: Double
        /// How long what comes waits for what comes late.
        package var bufferMs: Double

        package init(levelDb: Double?, lossRatio: Double, concealedRatio: Double, bufferMs: Double) {
            (self.levelDb, self.lossRatio) = (levelDb, lossRatio)
            (self.concealedRatio, self.bufferMs) = (concealedRatio, bufferMs)
        }
    }

    /// Which way pictures go between the sender and somebody; `none` where there is only sound.
    package enum Pictures: String, Codable, Sendable {
        case none, sent, received, both
    }

    /// The broadcast's sound as it is encoded.
    package struct Sound: Codable, Sendable, Equatable {
        package var codec = "opus"
        /// Of the last packet; 0 before the first.
        package var channels = 0
        /// Of what was sent in the last second.
        package var bitrateBps = 0
        /// The encoder's target.
        package var targetBps = 0
        package var packets: UInt64 = 0
        /// Blocks of 10 ms that were gone before they were encoded, or came too late.
        package var blocksLost: UInt64 = 0
        /// Whether there was nothing to hear in the last second.
        package var silent = true

        package init() {}
    }

    /// A STUN or TURN server.
    package struct Server: Codable, Sendable {
        package enum State: String, Codable, Sendable {
            case works
            /// Nobody answers there, or something else does.
            case silent
            case wrongLogin = "wrong_login"
            /// It answers with an error.
            case refused
        }

        /// As `turn:relay.example.net:3478`.
        package var name: String
        package var state: State
        /// Seconds since it is so.
        package var sinceS: Double
        /// The sentence that people were told.
        package var reason: String

        package init(name: String, state: State, sinceS: Double, reason: String) {
            (self.name, self.state, self.sinceS, self.reason) = (name, state, sinceS, reason)
        }
    }

    /// Somebody who waits to be let in.
    package struct Knock: Codable, Sendable {
        package var id: Int
        /// What it says of itself; either may be empty.
        package var name: String
        package var note: String
        package var address: String
        /// Seconds since it knocked.
        package var sinceS: Double

        package init(id: Int, name: String, note: String, address: String, sinceS: Double) {
            (self.id, self.name, self.note, self.address, self.sinceS) = (id, name, note, address, sinceS)
        }
    }

    /// What keeps the picture from being better or newer.
    package enum Limit: String, Codable, Sendable {
        /// Nothing changes.
        case still
        /// Encoding takes all of a core.
        case processor
        /// Viewers' links carry less than the bitrate that was set.
        case link
    }

    /// Those that are not over, and the latest of those that are.
    package var calls: [Call]
    /// The target of rate control, in bits a second.
    package var bitrateBps: Int
    /// The quantizer of the last frame, 0 (best) to 63; absent before the first second is over.
    package var quantizer: Int?
    /// Absent if nothing but the bitrate limits the picture.
    package var limit: Limit?
    /// Absent while nobody gets it.
    package var sound: Sound?
    package var viewers: [Viewer]
    /// Those of STUN and TURN that do not work; absent where all do that were asked.
    package var servers: [Server]?
    /// Absent where nobody has to knock.
    package var knocks: [Knock]?

    package init(
        calls: [Call],
        bitrateBps: Int,
        quantizer: Int? = nil,
        limit: Limit? = nil,
        sound: Sound? = nil,
        viewers: [Viewer],
        servers: [Server]? = nil,
        knocks: [Knock]? = nil
    ) {
        self.calls = calls
        self.bitrateBps = bitrateBps
        self.quantizer = quantizer
        self.limit = limit
        self.sound = sound
        self.viewers = viewers
        self.servers = servers
        self.knocks = knocks
    }
}
