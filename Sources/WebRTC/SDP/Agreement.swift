package import RTP

/// The agreement of an offer and its answer (RFC 9429 §5.3, §5.11), for either side's offer.
package struct Agreement: Equatable, Sendable {
    /// The streams in the order of the descriptions; 1…`StreamBundle.limit`.
    package let streams: [AgreedStream]
    package let remote: TransportParameters
    package let role: DTLSRole

    /// The video stream, the first if there are several; nil if there is none.
    package var video: AgreedStream? { streams.first { $0.formats[0].codec != .opus } }

    /// The stream of sound, the first if there are several; nil if there is none.
    package var sound: AgreedStream? { streams.first { $0.formats[0].codec == .opus } }

    /// The received streams; nil if there are none.
    package func incoming(using random: inout some RandomNumberGenerator) -> IncomingBundle? {
        let descriptions = streams.filter(\.isReceived).map { stream in
            var description = IncomingBundle.Description(
                mid: stream.mid,
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

extension Agreement {
    /// - Parameters:
    ///   - streams: never empty.
    ///   - tagged: the index of the description with the bundle's transport.
    ///   - isOffer: whether the description is an offer, or else an answer.
    init(
        _ streams: [AgreedStream],
        in description: SessionDescription,
        tagged: Int,
        isOffer: Bool
    ) throws(Shortcoming) {
        // The transport may be described in each of these places. The first one with an attribute counts.
        let places =
            [tagged, streams[0].section].map { description.media[$0].attributes }
            + [description.attributes, description.media[0].attributes]
        func first(_ name: String) -> String? { places.lazy.compactMap { $0.first(name) }.first }
        guard let fragment = first("ice-ufrag"), let password = first("ice-pwd"),
            let credentials = ICECredentials(fragment: fragment, password: password)
        else { throw Shortcoming(what: "gives no valid ICE credentials") }
        // The fingerprints of a media description replace those of the session (RFC 8122 §5).
        let hashes = places.lazy.map { $0.all("fingerprint") }.first { !$0.isEmpty } ?? []
        let fingerprints = hashes.compactMap { Fingerprint(parsing: $0) }
        guard !fingerprints.isEmpty else {
            throw Shortcoming(what: "gives no certificate fingerprint of SHA-256, SHA-384 or SHA-512")
        }
        let candidates = places.lazy.map { $0.all("candidate") }.first { !$0.isEmpty } ?? []
        let remote = TransportParameters(
            credentials: credentials,
            fingerprints: fingerprints,
            candidates: candidates.compactMap { Candidate(parsing: $0) },
            isLite: description.attributes.contains("ice-lite")
        )
        let role = try DTLSRole(answering: first("setup"), isOffer: isOffer)
        self.init(streams: streams, remote: remote, role: role)
    }
}
