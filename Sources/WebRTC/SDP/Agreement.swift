package import Media
import RTP

/// What an offer and its answer agree on (RFC 9429 §5.3, §5.11), whichever side made the offer.
package struct Agreement: Equatable, Sendable {
    /// What this side sends, in the order of the descriptions; 1…`StreamBundle.limit`.
    package let streams: [Negotiation.Stream]
    /// The peer's transport.
    package let remote: TransportParameters
    /// This side's part in the handshake.
    package let role: DTLSRole

    /// The index of a codec among the formats of the first stream; that of the usual format if the codec was not agreed on.
    package func format(preferring codec: VideoCodec) -> Int {
        streams[0].formats.firstIndex { $0.codec == .video(codec) } ?? 0
    }
}
