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

    /// The stream of pictures, the first if there are several; nil if there is none.
    package var video: Negotiation.Stream? { streams.first { $0.formats[0].codec != .opus } }

    /// The stream of sound, likewise.
    package var sound: Negotiation.Stream? { streams.first { $0.formats[0].codec == .opus } }

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
}

extension Negotiation.Stream {
    /// The codec of what is sent of pictures: this one if it was agreed on, or else the usual one; nil for sound.
    package func codec(preferring codec: VideoCodec) -> VideoCodec? {
        guard case .video(let usual) = formats[0].codec else { return nil }
        return self[codec] == nil ? usual : codec
    }

    /// What was agreed on for a codec of pictures; nil if nothing was.
    package subscript(codec: VideoCodec) -> OutgoingStream.Parameters? {
        formats.first { $0.codec == .video(codec) }?.parameters
    }
}
