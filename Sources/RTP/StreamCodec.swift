package import Media

/// The encoding of a stream's payloads.
package enum StreamCodec: Hashable, Sendable {
    case video(VideoCodec)
    /// Sound in Opus (RFC 7587). Each payload is a packet that can be decoded alone.
    case opus

    package static let allCases = VideoCodec.allCases.map(StreamCodec.video) + [.opus]

    /// The media of a description that carries it (RFC 8866 §5.14).
    package var kind: String { if case .video = self { "video" } else { "audio" } }

    /// Ticks a second of the RTP clock.
    package var clockRate: Int { if case .video = self { VideoCodec.clockRate } else { 48_000 } }

    /// Encoding name, clock rate and channels, as `rtpmap` has them (RFC 8866 §6.6).
    package var encoding: String {
        switch self {
        case .video(let codec): "\(codec.rawValue)/\(clockRate)"
        case .opus: "opus/\(clockRate)/2"
        }
    }
}

extension VideoCodec {
    /// Ticks a second of the RTP clock.
    package static let clockRate = 90_000
}
