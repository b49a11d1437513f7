package import Control
package import Media
import RTP
import Time

package struct PeerStatus: Sendable {
    package let id: ParticipantID
    /// Nil if it gets no picture.
    package let rendition: Rendition?
    package let isConnected: Bool
    /// Further facts for people, without the target of its encoder.
    package let snapshot: PeerSnapshot
}

/// The packets to all peers, also to former ones.
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

/// The recent bitrate of a stream.
struct RecentRate {
    private var bytesBefore: UInt64 = 0
    /// Bits a second.
    private(set) var bitrate = 0

    /// - Parameters:
    ///   - bytes: in all.
    ///   - elapsed: the time since the last call.
    mutating func measure(_ bytes: UInt64, over elapsed: Duration) {
        if elapsed > .zero { bitrate = Int(Double(bytes - bytesBefore) * 8e9 / Double(elapsed.nanoseconds)) }
        bytesBefore = bytes
    }
}
