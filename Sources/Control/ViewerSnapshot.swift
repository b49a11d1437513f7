package import Media

/// A peer of any call at one instant. The JSON has the fields of all its parts in one object: `Bps` is bits a second,
/// `Ms` milliseconds, `S` seconds, `Ratio` 0…1.
package struct ViewerSnapshot: Sendable {
    package struct Participant: Codable, Sendable {
        package var id = ParticipantID(0)
        package var call = ""
        package var address = ""
        /// The peer's name in its own words; absent if it gave none.
        package var name: String?
        /// Seconds since it joined.
        package var sinceS = 0.0
        package var state = ""
        /// Its right to speak, and whether it does.
        package var talk = TalkState.off
        /// The quality of its voice here; absent if it is not heard.
        package var voice: Voice?
        /// Seconds until it has to go, unless it asks for more time; absent without a lease.
        package var leaseS: Double?
    }

    package struct Voice: Codable, Sendable {
        /// The level, 0 dB for a tone of full scale; absent for silence.
        package var levelDb: Double?
        /// The share of the packets that did not come in time, 0…1.
        package var lossRatio: Double
        /// The share of concealed sound, 0…1.
        package var concealedRatio: Double
        /// How long packets wait for late ones, in milliseconds.
        package var bufferMs: Double

        package init(levelDb: Double?, lossRatio: Double, concealedRatio: Double, bufferMs: Double) {
            (self.levelDb, self.lossRatio) = (levelDb, lossRatio)
            (self.concealedRatio, self.bufferMs) = (concealedRatio, bufferMs)
        }
    }

    package var participant = Participant()
    package var peer = PeerSnapshot()

    package init() {}

    package var id: ParticipantID { participant.id }
}

/// A peer's connection and media. These facts are shown, and decide nothing.
package struct PeerSnapshot: Sendable {
    /// The direction of the pictures; `none` if there is only sound.
    package enum Pictures: String, Codable, Sendable {
        case none, sent, received, both
    }

    package struct Media: Codable, Sendable {
        package var pictures = Pictures.sent
        /// The codec of its picture; empty if it gets none.
        package var codec = ""
        /// 1 for the encode of viewers with good links, more for coarser encodes.
        package var rendition: Int?
        /// The bitrate of its sound; absent if it gets none.
        package var soundBps: Int?
        /// The share of the sound's packets that were lost; absent if it gets none.
        package var soundLossRatio: Double?
        package var srtp: String?
        /// Kinds of the candidates at both ends, such as `host-relay`.
        package var path: String?
    }

    package struct Link: Codable, Sendable {
        /// The bitrate of the picture, without protocol headers.
        package var bitrateBps = 0
        /// The estimate of its link; absent without feedback.
        package var estimateBps: Int?
        /// The target of its encoder within the limits of the links.
        package var targetBps: Int?
        /// The time until its last waiting packet may leave.
        package var queueMs: Double?
        package var rttMs: Double?
        package var lossRatio: Double?
        package var framesSent: UInt64 = 0
        package var nacks: UInt64 = 0
        package var plis: UInt64 = 0
    }

    package var media = Media()
    package var link = Link()

    package init() {}
}

extension ViewerSnapshot {
    package struct Fact: Sendable {
        /// Its column in the table of `oriel status`; nil for none.
        package let head: String?
        /// Its name in the statistics of the viewer's page; nil if the page does not show it, or measures it itself.
        package let page: String?
        /// Nil if unknown.
        package let text: @Sendable (ViewerSnapshot) -> String?

        init(_ head: String? = nil, page: String? = nil, _ text: @escaping @Sendable (ViewerSnapshot) -> String?) {
            (self.head, self.page, self.text) = (head, page, text)
        }
    }

    package static let facts = [
        Fact("viewer") { viewer in viewer.participant.name.map { "\(viewer.id) \"\($0)\"" } ?? "\(viewer.id)" },
        Fact("from") { $0.participant.address },
        Fact("for") { "\(rounded($0.participant.sinceS)) s" },
        Fact("pictures") { $0.peer.media.pictures.rawValue },
        Fact("codec") { $0.peer.media.codec.isEmpty ? nil : $0.peer.media.codec },
        Fact("rendition") { $0.peer.media.rendition.map { "\($0)" } },
        Fact("kb/s") { "\($0.peer.link.bitrateBps / 1000)" },
        Fact("target") { $0.peer.link.targetBps.map { "\($0 / 1000)" } },
        Fact("link") { $0.peer.link.estimateBps.map { "\($0 / 1000)" } },
        Fact("queue") { $0.peer.link.queueMs.map { "\(rounded($0)) ms" } },
        Fact("round trip") { $0.peer.link.rttMs.map { "\(rounded($0)) ms" } },
        Fact("loss") { $0.peer.link.lossRatio.map { "\(rounded($0 * 100)) %" } },
        Fact("frames") { "\($0.peer.link.framesSent)" },
        Fact("nacks") { "\($0.peer.link.nacks)" },
        Fact("plis") { "\($0.peer.link.plis)" },
        Fact("sound") { $0.peer.media.soundBps.map { "\($0 / 1000) kb/s" } },
        Fact("talk") { $0.participant.talkText },
        Fact("lease") { $0.participant.leaseS.map { "\(rounded($0)) s" } },
        Fact(page: "Path") { $0.peer.media.path },
        Fact(page: "Encryption") { $0.peer.media.srtp },
    ]
}

extension ViewerSnapshot.Participant {
    fileprivate var talkText: String? {
        if talk == .off { return nil }
        guard let voice else { return talk.rawValue }
        return [
            talk.rawValue, voice.levelDb.map { "\(rounded($0)) dB" }, "\(rounded(voice.lossRatio * 100)) % lost",
            "\(rounded(voice.concealedRatio * 100)) % made up", "\(rounded(voice.bufferMs)) ms",
        ].compactMap(\.self).joined(separator: ", ")
    }
}

extension ViewerSnapshot: Codable {
    package init(from decoder: any Decoder) throws {
        participant = try Participant(from: decoder)
        peer.media = try PeerSnapshot.Media(from: decoder)
        peer.link = try PeerSnapshot.Link(from: decoder)
    }

    package func encode(to encoder: any Encoder) throws {
        try participant.encode(to: encoder)
        try peer.media.encode(to: encoder)
        try peer.link.encode(to: encoder)
    }
}
