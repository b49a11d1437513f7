package import Media
package import RTP

/// Why an offer cannot be answered with a stream.
package enum UnacceptableOffer: Error, Equatable, CustomStringConvertible {
    /// No media description asks to receive video.
    case noVideo
    /// None of the codecs that this sender encodes is offered; names of those that are.
    case noCommonCodec(offered: [String])
    /// Something that WebRTC demands is missing or malformed.
    case incomplete(String)

    package var description: String {
        switch self {
        case .noVideo: "the offer asks for no video: offer a recvonly video description"
        case .noCommonCodec(let offered):
            "none of the offered codecs (\(offered.joined(separator: ", "))) is sent here: offer VP8, VP9 or AV1"
        case .incomplete(let what): "the offer \(what)"
        }
    }
}

/// What an offer and this sender agree on: a pure function of both (RFC 9429 §5.3).
///
/// The first description that asks for video gets the stream. The one that its bundle is tagged with (RFC 9143 §7.3.1)
/// stays without one, since all of the bundle would go with it; all others are rejected.
package struct Negotiation: Equatable, Sendable {
    /// A codec and all that goes with it.
    package struct Format: Equatable, Sendable {
        package let codec: VideoCodec
        package let parameters: OutgoingStream.Parameters
        /// The value of its `fmtp` line; nil where it has none.
        let specifics: String?
        let feedback: [String]
    }

    /// What may be sent, the usual format first; never empty.
    package let formats: [Format]
    package let remote: TransportParameters
    package let role: DTLSRole
    let offer: SessionDescription
    /// The description that gets the stream.
    let section: Int
    /// The description that tells the transport: the first of the bundle, or the one that gets the stream.
    let tagged: Int
    /// The mids of the bundle that gets the stream, if there is one.
    let bundle: [String]?
    let extensions: [String]

    /// - Parameter codecs: those that can be sent, in groups: of each, the first that is offered is agreed on.
    package init(offer: SessionDescription, codecs: [[VideoCodec]]) throws(UnacceptableOffer) {
        let section = offer.media.firstIndex { media in
            media.kind == "video" && (media.port != 0 || media.attributes.contains("bundle-only"))
                && media.direction(in: offer).receives
        }
        guard let section else { throw .noVideo }
        let media = offer.media[section]
        guard media.isProtectedRTP else {
            throw .incomplete("wants \(media.transport): offer UDP/TLS/RTP/SAVPF")
        }
        guard media.attributes.contains("rtcp-mux") else {
            throw .incomplete("keeps RTCP on a port of its own: offer a=rtcp-mux")
        }
        let offered = media.codecs
        let agreed = codecs.compactMap { group in
            group.lazy.compactMap { codec in offered.first { $0.codec == codec } }.first
        }
        guard !agreed.isEmpty else { throw .noCommonCodec(offered: media.encodingNames) }
        let (extensions, lines) = media.extensions(of: offer, for: agreed.map(\.codec))
        let bundle = offer.bundle(of: media)
        let tagged = offer.tagged(in: bundle ?? [], for: section)
        self.offer = offer
        self.section = section
        self.tagged = tagged
        self.bundle = bundle
        self.extensions = lines
        let places = [offer.media[tagged], media].map(\.attributes) + [offer.attributes, offer.media[0].attributes]
        remote = try Self.transport(in: places, isLite: offer.attributes.contains("ice-lite"))
        role = try Self.role(in: places)
        formats = agreed.map { format in
            let offered = media.feedback(for: format.payloadType)
            let feedback = ["ccm fir", "nack", "nack pli"].filter { offered.contains($0) }
            var extensions = extensions
            if format.codec != .av1 { extensions.dependencyDescriptor = nil }
            let parameters = OutgoingStream.Parameters(
                payloadType: format.payloadType,
                retransmissionPayloadType: offered.contains("nack") ? format.retransmission : nil,
                canAskForRepair: !feedback.isEmpty,
                extensions: extensions,
                mid: media.attributes.first("mid") ?? ""
            )
            return Format(codec: format.codec, parameters: parameters, specifics: format.parameters, feedback: feedback)
        }
    }

    /// The format of a codec, or the usual one where that was not agreed on.
    package func format(preferring codec: VideoCodec) -> Format { formats.first { $0.codec == codec } ?? formats[0] }

    /// Identifies the accepted media description; empty if the offer gives it no name.
    package var mid: String { formats[0].parameters.mid }

    /// The media descriptions whose candidates are those of this one: all of its bundle (RFC 9143 §7.3.1).
    package var bundledMids: [String] { bundle ?? [mid] }

    /// The `m=` line and the name of the description that tells the transport, for fragments (RFC 8840 §4.4).
    package var transportSection: (kind: String, mid: String) {
        (offer.media[tagged].kind, offer.media[tagged].attributes.first("mid") ?? "")
    }

    /// - Parameter places: where the transport may be described, the first that does counts.
    private static func transport(
        in places: [[SessionDescription.Attribute]],
        isLite: Bool
    ) throws(UnacceptableOffer) -> TransportParameters {
        func first(_ name: String) -> String? { places.lazy.compactMap { $0.first(name) }.first }
        guard let fragment = first("ice-ufrag"), let password = first("ice-pwd"),
            let credentials = ICECredentials(fragment: fragment, password: password)
        else { throw .incomplete("gives no valid ICE credentials") }
        // Those of the description itself replace the session's (RFC 8122 §5).
        let hashes = places.lazy.map { $0.all("fingerprint") }.first { !$0.isEmpty } ?? []
        let fingerprints = hashes.compactMap { Fingerprint(parsing: $0) }
        guard !fingerprints.isEmpty else {
            throw .incomplete("gives no certificate fingerprint of SHA-256, SHA-384 or SHA-512")
        }
        let candidates = places.lazy.map { $0.all("candidate") }.first { !$0.isEmpty } ?? []
        return TransportParameters(
            credentials: credentials,
            fingerprints: fingerprints,
            candidates: candidates.compactMap { Candidate(parsing: $0) },
            isLite: isLite
        )
    }

    /// An answerer that may choose takes the client's part: its handshake begins as soon as there is a path (RFC 8842
    /// §5.3).
    private static func role(in places: [[SessionDescription.Attribute]]) throws(UnacceptableOffer) -> DTLSRole {
        switch places.lazy.compactMap({ $0.first("setup") }).first {
        case "actpass", "passive", nil: return .client
        case "active": return .server
        case let other?: throw .incomplete("says a=setup:\(other): offer actpass")
        }
    }
}

extension SessionDescription {
    /// The mids of the bundle that a description is in, if it is in one.
    fileprivate func bundle(of section: Media) -> [String]? {
        guard let mid = section.attributes.first("mid") else { return nil }
        let groups = attributes.all("group").lazy.map { $0.split(separator: " ").map(String.init) }
        return groups.first { $0.first == "BUNDLE" && $0.dropFirst().contains(mid) }.map { Array($0.dropFirst()) }
    }

    /// The index of the description that a bundle's transport is that of, as an answer has it (RFC 9143 §7.3.1): the first
    /// that can be there, or `section`, which is.
    fileprivate func tagged(in bundle: [String], for section: Int) -> Int {
        let indices = Dictionary(
            media.enumerated().compactMap { index, media in media.attributes.first("mid").map { ($0, index) } }
        ) { first, _ in first }
        return bundle.lazy.compactMap { indices[$0] }.first { $0 == section || media[$0].canBeTagged } ?? section
    }
}

extension SessionDescription.Media {
    /// Whether an answer can take the description without a stream.
    fileprivate var canBeTagged: Bool {
        port != 0 && isProtectedRTP && attributes.contains("rtcp-mux") && !attributes.contains("bundle-only")
    }
}
