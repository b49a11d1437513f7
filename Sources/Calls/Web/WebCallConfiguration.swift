package import Media
package import RTP
package import Time
package import WebRTC

extension WebCall {
    package struct Configuration: Sendable {
        /// What may be sent, in groups, one at least: of each, a viewer gets the first whose codec it takes. Packets leave at up
        /// to five times the rendition's bitrate.
        package var renditions: [[Rendition]]
        package var viewerLimit: Int
        package var ice: ICEAgent.Configuration
        /// The instant before which no picture may have been taken that is sent now, also again or to somebody new; nil for
        /// none. Asked on the network thread.
        package var horizon: @Sendable () -> Instant?

        package init(
            renditions: [[Rendition]],
            viewerLimit: Int,
            ice: ICEAgent.Configuration,
            horizon: @escaping @Sendable () -> Instant? = { nil }
        ) {
            self.renditions = renditions
            self.viewerLimit = viewerLimit
            self.ice = ice
            self.horizon = horizon
        }

        var codecs: [[VideoCodec]] { renditions.map { $0.map(\.codec) } }

        /// The rendition that a viewer gets who agreed on a codec.
        func rendition(of codec: VideoCodec) -> Rendition { renditions.joined().first { $0.codec == codec }! }
    }
}

/// A viewer that was let in.
package struct Admission: Sendable {
    /// Names the viewer's session; cannot be guessed.
    package let id: String
    /// The session description for the viewer.
    package let answer: String
    /// The generation of its ICE credentials, as an entity tag without quotation marks.
    package let generation: String
}

/// Why a viewer is not let in.
package enum Refusal: Error, Equatable, CustomStringConvertible {
    case full(limit: Int)
    /// Too many came from one network.
    case tooMany
    case malformed(MalformedSDP)
    case unacceptable(UnacceptableOffer)
    /// No UDP port is free, or the machine has no address.
    case noTransport
    case closed

    package var description: String {
        switch self {
        case .full(let limit): "there are \(limit) viewers already, and no more are let in: try again later"
        case .tooMany: "too many viewers came from there: try again later"
        case .malformed(let error): "\(error)"
        case .unacceptable(let error): "\(error)"
        case .noTransport: "no UDP port is free for another one: try again later"
        case .closed: "the broadcast is ending"
        }
    }
}

/// For which ICE credentials a fragment is meant (RFC 9725 §4.3.1).
package enum FragmentCondition: Sendable, Equatable {
    /// Those of this generation.
    case generation(String)
    /// Any: new ones ask for a restart.
    case any
    /// Not said: only a fragment that gives the credentials in use is clear.
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

/// What became of candidates or credentials that a viewer sent later.
package enum TrickleOutcome: Sendable, Equatable {
    case unknownViewer
    /// The fragment makes no sense.
    case malformed(MalformedSDP)
    /// It belongs to another generation than the current one.
    case outdated
    /// It does not say to which generation it belongs.
    case unconditional
    /// Too many restarts came from one network.
    case tooMany
    case added
    /// A new generation, and the fragment for the viewer.
    case restarted(generation: String, fragment: String)
}

/// What all viewers were sent, also those who have left.
package struct WebCallTotals: Sendable, Equatable {
    package internal(set) var packets: UInt64 = 0
    /// Payload bytes, without retransmissions.
    package internal(set) var bytes: UInt64 = 0
    package internal(set) var retransmissions: UInt64 = 0
    package internal(set) var keyframeRequests: UInt64 = 0

    package init() {}

    mutating func add(_ statistics: StreamStatistics) {
        packets += statistics.packets
        bytes += statistics.bytes
        retransmissions += statistics.retransmissions
        keyframeRequests += statistics.keyframeRequests
    }
}

/// One viewer as others see it.
package struct ViewerStatus: Sendable, Equatable {
    /// Counts viewers from 1; unlike the session's name it gives no access.
    package let number: Int
    /// Of the signalling; the media may take another path.
    package let address: String
    /// When the viewer joined: nanoseconds of the monotonic clock.
    package let since: UInt64
    package let codec: VideoCodec
    package let isConnected: Bool
    /// Bits a second, protocol headers not counted.
    package let bitrate: Int
    package let profile: SRTPProfile?
    /// Kinds of the candidates at both ends, such as `host` and `relay`.
    package let path: (local: Candidate.Kind, remote: Candidate.Kind)?
    package let statistics: StreamStatistics
    /// Nanoseconds; nil before it is known.
    package let roundTripTime: UInt64?

    package static func == (left: Self, right: Self) -> Bool {
        left.number == right.number && left.statistics == right.statistics && left.isConnected == right.isConnected
    }
}
