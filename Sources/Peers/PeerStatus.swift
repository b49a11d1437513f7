package import Control
package import Media
import RTP
package import Time

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
    /// Whether its voice is taken, if somebody lets it speak.
    package let canSpeak: Bool
    /// What is only told, but for the target of its encoder.
    package let snapshot: PeerSnapshot
}

extension ViewerSnapshot {
    /// - Parameter target: of its encoder, in bits a second; nil if that has not begun.
    package init(_ status: PeerStatus, target: Int?, at now: Instant) {
        self.init()
        participant.id = status.id
        participant.call = status.call
        participant.address = status.address
        participant.sinceS = milliseconds(now - status.since) / 1000
        participant.state = status.isConnected ? "connected" : "connecting"
        peer = status.snapshot
        peer.link.targetBps = target
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
