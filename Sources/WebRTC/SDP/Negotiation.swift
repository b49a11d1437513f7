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
/// The first description that asks for video gets the stream; all others are rejected.
package struct Negotiation: Equatable, Sendable {
    /// A codec and all that goes with it.
    package struct Format: Equatable, Sendable {
        package let codec: VideoCodec
        package let video: VideoSender.Parameters
        let parameters: String?
        let feedback: [String]
    }

    /// What may be sent, the usual format first; never empty.
    package let formats: [Format]
    package let remote: TransportParameters
    package let role: DTLSRole
    private let offer: SessionDescription
    private let section: Int
    private let extensions: [String]

    /// - Parameter codecs: those that can be sent, in groups: of each, the first that is offered is agreed on.
    package init(offer: SessionDescription, codecs: [[VideoCodec]]) throws(UnacceptableOffer) {
        let section = offer.media.firstIndex { media in
            media.kind == "video" && (media.port != 0 || media.attributes.contains("bundle-only"))
                && media.direction(in: offer).receives
        }
        guard let section else { throw .noVideo }
        let media = offer.media[section]
        guard media.transport.hasSuffix("TLS/RTP/SAVPF") || media.transport.hasSuffix("TLS/RTP/SAVP") else {
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
        self.offer = offer
        self.section = section
        self.extensions = lines
        remote = try Self.transport(of: media, in: offer)
        role = try Self.role(of: media, in: offer)
        formats = agreed.map { format in
            let offered = media.feedback(for: format.payloadType)
            let feedback = ["ccm fir", "nack", "nack pli"].filter { offered.contains($0) }
            var extensions = extensions
            if format.codec != .av1 { extensions.dependencyDescriptor = nil }
            let video = VideoSender.Parameters(
                payloadType: format.payloadType,
                retransmissionPayloadType: offered.contains("nack") ? format.retransmission : nil,
                canAskForRepair: !feedback.isEmpty,
                extensions: extensions,
                mid: media.attributes.first("mid") ?? ""
            )
            return Format(codec: format.codec, video: video, parameters: format.parameters, feedback: feedback)
        }
    }

    /// The format of a codec, or the usual one where that was not agreed on.
    package func format(preferring codec: VideoCodec) -> Format { formats.first { $0.codec == codec } ?? formats[0] }

    /// Identifies the accepted media description; empty if the offer gives it no name.
    package var mid: String { formats[0].video.mid }

    /// The media descriptions whose candidates are those of this one: all of its bundle (RFC 9143 §7.3.1).
    package var bundledMids: [String] { bundle ?? [mid] }

    /// The bundle of the accepted media description, if there is one.
    private var bundle: [String]? {
        let groups = offer.attributes.all("group").map { $0.split(separator: " ").map(String.init) }
        return groups.first { $0.first == "BUNDLE" && $0.dropFirst().contains(mid) }.map { Array($0.dropFirst()) }
    }

    /// The answer.
    ///
    /// - Parameters:
    ///   - local: this side's transport.
    ///   - sender: the stream that will be sent.
    ///   - sessionID: any number that no other answer has, below 2⁶³.
    package func answer(local: TransportParameters, sender: borrowing VideoSender, sessionID: UInt64)
        -> SessionDescription
    {
        var answer = SessionDescription(origin: "- \(sessionID) 1 IN IP4 127.0.0.1")
        if bundle != nil {
            answer.attributes.append(.init("group", "BUNDLE \(mid)"))
        }
        if offer.attributes.contains("extmap-allow-mixed") { answer.attributes.append(.init("extmap-allow-mixed")) }
        answer.attributes.append(.init("msid-semantic", "WMS *"))
        for (index, media) in offer.media.enumerated() {
            answer.media.append(
                index == section ? accepted(media, local: local, sender: sender) : media.rejected
            )
        }
        return answer
    }

    private func accepted(
        _ offered: SessionDescription.Media,
        local: TransportParameters,
        sender: borrowing VideoSender
    ) -> SessionDescription.Media {
        let payloadTypes = formats.flatMap {
            [$0.video.payloadType, $0.video.retransmissionPayloadType].compactMap(\.self)
        }
        var media = SessionDescription.Media(
            kind: offered.kind,
            port: 9,
            transport: offered.transport,
            formats: payloadTypes.map { "\($0)" }
        )
        func add(_ name: String, _ value: String? = nil) { media.attributes.append(.init(name, value)) }
        if !mid.isEmpty { add("mid", mid) }
        add("ice-ufrag", local.credentials.fragment)
        add("ice-pwd", local.credentials.password)
        add("ice-options", "trickle")
        for fingerprint in local.fingerprints { add("fingerprint", "\(fingerprint)") }
        add("setup", role.setup)
        for line in extensions { add("extmap", line) }
        add("sendonly")
        add("msid", "oriel screen")
        add("rtcp-mux")
        if offered.attributes.contains("rtcp-rsize") { add("rtcp-rsize") }
        for format in formats {
            let payloadType = format.video.payloadType
            add("rtpmap", "\(payloadType) \(format.codec.rawValue)/\(RTPStream.clockRate)")
            if let parameters = format.parameters { add("fmtp", "\(payloadType) \(parameters)") }
            for kind in format.feedback { add("rtcp-fb", "\(payloadType) \(kind)") }
            if let retransmission = format.video.retransmissionPayloadType {
                add("rtpmap", "\(retransmission) rtx/\(RTPStream.clockRate)")
                add("fmtp", "\(retransmission) apt=\(payloadType)")
            }
        }
        if let retransmission = sender.retransmissionSSRC {
            add("ssrc-group", "FID \(sender.ssrc) \(retransmission)")
        }
        for ssrc in [sender.ssrc] + [sender.retransmissionSSRC].compactMap({ $0 }) {
            add("ssrc", "\(ssrc) cname:\(sender.name)")
            add("ssrc", "\(ssrc) msid:oriel screen")
        }
        for candidate in local.candidates { add("candidate", "\(candidate)") }
        add("end-of-candidates")
        return media
    }

    /// The transport of a bundle is described by its first member, and elsewhere by the description itself or the
    /// session.
    private static func transport(
        of media: SessionDescription.Media,
        in offer: SessionDescription
    ) throws(UnacceptableOffer) -> TransportParameters {
        let places = [media.attributes, offer.attributes, offer.media.first?.attributes ?? []]
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
        let source = media.attributes.contains("candidate") ? media.attributes : offer.media.first?.attributes ?? []
        return TransportParameters(
            credentials: credentials,
            fingerprints: fingerprints,
            candidates: source.all("candidate").compactMap { Candidate(parsing: $0) },
            isLite: offer.attributes.contains("ice-lite")
        )
    }

    /// An answerer that may choose takes the client's part: its handshake begins as soon as there is a path (RFC 8842
    /// §5.3).
    private static func role(
        of media: SessionDescription.Media,
        in offer: SessionDescription
    ) throws(UnacceptableOffer) -> DTLSRole {
        let places = [media.attributes, offer.attributes, offer.media.first?.attributes ?? []]
        switch places.lazy.compactMap({ $0.first("setup") }).first {
        case "actpass", "passive", nil: return .client
        case "active": return .server
        case let other?: throw .incomplete("says a=setup:\(other): offer actpass")
        }
    }
}
