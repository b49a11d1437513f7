package import Media
package import RTP

/// What an offer and its answer agree on (RFC 9429 §5.3, §5.11), whichever side made the offer.
package struct Agreement: Equatable, Sendable {
    /// What this side sends, in the order of the descriptions; 1…`StreamBundle.limit`.
    package let streams: [Negotiation.Stream]
    /// The peer's transport.
    package let remote: TransportParameters
    /// This side's part in the handshake.
    package let role: DTLSRole

    /// What the peer sends and this side takes; nil if that is nothing.
    package func incoming(using random: inout some RandomNumberGenerator) -> IncomingBundle? {
        let descriptions = streams.filter(\.isReceived).map { stream in
            var description = IncomingBundle.Description(
                mid: stream.mid,
                codecs: [:],
                retransmissions: [:],
                extensions: stream.formats[0].parameters.extensions
            )
            for format in stream.formats {
                let payloadType = format.parameters.payloadType
                description.codecs[payloadType] = format.codec
                if let retransmission = format.parameters.retransmissionPayloadType {
                    description.retransmissions[retransmission] = payloadType
                }
            }
            return description
        }
        return descriptions.isEmpty ? nil : IncomingBundle(descriptions, using: &random)
    }

    /// The index of a codec among the formats of the first stream; that of the usual format if the codec was not agreed on.
    package func format(preferring codec: VideoCodec) -> Int {
        streams[0].formats.firstIndex { $0.codec == .video(codec) } ?? 0
    }
}
