import Media
package import RTP

extension Negotiation {
    /// The answer.
    ///
    /// - Parameters:
    ///   - local: this side's transport.
    ///   - streams: what will be sent.
    ///   - sessionID: any number that no other answer has, below 2⁶³.
    package func answer(local: TransportParameters, streams: StreamBundle, sessionID: UInt64)
        -> SessionDescription
    {
        var answer = SessionDescription(origin: "- \(sessionID) 1 IN IP4 127.0.0.1")
        if bundle != nil {
            let mids = tagged == section ? [mid] : [transportSection.mid, mid]
            answer.attributes.append(.init("group", "BUNDLE \(mids.joined(separator: " "))"))
        }
        if offer.attributes.contains("extmap-allow-mixed") { answer.attributes.append(.init("extmap-allow-mixed")) }
        answer.attributes.append(.init("msid-semantic", "WMS *"))
        for (index, media) in offer.media.enumerated() {
            switch index {
            case section: answer.media.append(accepted(media, local: local, streams: streams))
            case tagged: answer.media.append(silent(media, local: local))
            default: answer.media.append(rejected(media))
            }
        }
        return answer
    }

    private func accepted(
        _ offered: SessionDescription.Media,
        local: TransportParameters,
        streams: StreamBundle
    ) -> SessionDescription.Media {
        let payloadTypes = formats.flatMap {
            [$0.parameters.payloadType, $0.parameters.retransmissionPayloadType].compactMap(\.self)
        }
        var media = open(offered, formats: payloadTypes.map { "\($0)" }, local)
        func add(_ name: String, _ value: String? = nil) { media.attributes.append(.init(name, value)) }
        for line in extensions { add("extmap", line) }
        add("sendonly")
        add("msid", "oriel screen")
        add("rtcp-mux")
        if offered.attributes.contains("rtcp-rsize") { add("rtcp-rsize") }
        for format in formats {
            let payloadType = format.parameters.payloadType
            add("rtpmap", "\(payloadType) \(format.codec.rawValue)/\(VideoCodec.clockRate)")
            if let specifics = format.specifics { add("fmtp", "\(payloadType) \(specifics)") }
            for kind in format.feedback { add("rtcp-fb", "\(payloadType) \(kind)") }
            if let retransmission = format.parameters.retransmissionPayloadType {
                add("rtpmap", "\(retransmission) rtx/\(VideoCodec.clockRate)")
                add("fmtp", "\(retransmission) apt=\(payloadType)")
            }
        }
        let stream = streams.streams[0]
        if let retransmission = stream.retransmissionSSRC {
            add("ssrc-group", "FID \(stream.ssrc) \(retransmission)")
        }
        for ssrc in stream.sources {
            add("ssrc", "\(ssrc) cname:\(streams.canonicalName)")
            add("ssrc", "\(ssrc) msid:oriel screen")
        }
        if tagged == section { media.attributes += Self.candidates(of: local) }
        return media
    }

    /// The answer to a description that tells the bundle's transport and gets no stream: the first of its formats, unused.
    private func silent(_ offered: SessionDescription.Media, local: TransportParameters) -> SessionDescription.Media {
        let format = offered.formats[0]
        var media = open(offered, formats: [format], local)
        media.attributes += [.init("inactive"), .init("rtcp-mux")]
        media.attributes += offered.attributes.filter { attribute in
            ["rtpmap", "fmtp"].contains(attribute.name) && attribute.value?.hasPrefix("\(format) ") == true
        }
        media.attributes += Self.candidates(of: local)
        return media
    }

    /// The answer to a description that is not wanted (RFC 9429 §5.3.1).
    private func rejected(_ offered: SessionDescription.Media) -> SessionDescription.Media {
        var media = offered
        media.port = 0
        media.attributes = offered.attributes.first("mid").map { [.init("mid", $0)] } ?? []
        media.attributes.append(.init("inactive"))
        return media
    }

    /// What all descriptions of a bundle say, as browsers do: some look for it in the one that has the stream.
    private func open(
        _ offered: SessionDescription.Media,
        formats: [String],
        _ local: TransportParameters
    ) -> SessionDescription.Media {
        var media = SessionDescription.Media(
            kind: offered.kind,
            port: 9,
            transport: offered.transport,
            formats: formats
        )
        func add(_ name: String, _ value: String) { media.attributes.append(.init(name, value)) }
        if let mid = offered.attributes.first("mid") { add("mid", mid) }
        add("ice-ufrag", local.credentials.fragment)
        add("ice-pwd", local.credentials.password)
        add("ice-options", "trickle")
        for fingerprint in local.fingerprints { add("fingerprint", "\(fingerprint)") }
        add("setup", role.setup)
        return media
    }

    private static func candidates(of local: TransportParameters) -> [SessionDescription.Attribute] {
        local.candidates.map { .init("candidate", "\($0)") } + [.init("end-of-candidates")]
    }
}
