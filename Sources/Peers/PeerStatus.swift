package import Media
package import RTP
package import Time
package import WebRTC

/// One peer as others see it.
package struct PeerStatus: Sendable {
    package let id: ParticipantID
    /// The call that it is in, as people name it.
    package let call: String
    /// Where it was signalled from; the media may take another path.
    package let address: String
    /// When it was added.
    package let since: Instant
    /// Of the rendition that it gets; nil if it gets no picture.
    package let codec: VideoCodec?
    /// Of the rendition that it gets.
    package let rung: Int
    package let isConnected: Bool
    /// Whether it shows a picture of its own.
    package let isReceived: Bool
    /// Whether its voice is taken, if somebody lets it speak.
    package let canSpeak: Bool
    /// Of the picture, in bits a second, protocol headers not counted.
    package let bitrate: Int
    /// Nil if it does not get the sound.
    package let sound: Sound?
    package let profile: SRTPProfile?
    /// Kinds of the candidates at both ends, such as `host` and `relay`.
    package let path: (local: Candidate.Kind, remote: Candidate.Kind)?
    package let statistics: StreamStatistics
    /// What its link carries, in bits a second; nil where nothing tells.
    package let estimate: Int?
    /// How long the last of what waits for it had to wait a moment ago.
    package let backlog: Duration
    /// Nil before it is known.
    package let roundTripTime: Duration?

    /// The sound that it gets.
    package struct Sound: Sendable {
        /// Bits a second, protocol headers not counted.
        package let bitrate: Int
        package let statistics: StreamStatistics

        init(bitrate: Int, _ statistics: StreamStatistics) {
            (self.bitrate, self.statistics) = (bitrate, statistics)
        }
    }
}

/// What all peers were sent, also those who have left.
package struct PeerTotals: Sendable, Equatable {
    package private(set) var packets: UInt64 = 0
    /// Payload bytes, without retransmissions.
    package private(set) var bytes: UInt64 = 0
    package private(set) var retransmissions: UInt64 = 0
    package private(set) var keyframeRequests: UInt64 = 0

    mutating func add(_ peer: Peer) {
        add(peer.statistics)
        add(peer.soundStatistics)
    }

    private mutating func add(_ statistics: StreamStatistics) {
        packets += statistics.packets
        bytes += statistics.bytes
        retransmissions += statistics.retransmissions
        keyframeRequests += statistics.keyframeRequests
    }
}

/// The bitrate of a stream in the last while.
struct RecentRate {
    private var bytesBefore: UInt64 = 0
    /// Bits a second.
    private(set) var bitrate = 0

    /// - Parameters:
    ///   - bytes: of all time.
    ///   - elapsed: the time since the last call.
    mutating func measure(_ bytes: UInt64, over elapsed: Duration) {
        if elapsed > .zero { bitrate = Int(Double(bytes - bytesBefore) * 8e9 / Double(elapsed.nanoseconds)) }
        bytesBefore = bytes
    }
}
