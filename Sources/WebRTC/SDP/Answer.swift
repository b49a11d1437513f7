package import RTP

extension Negotiation {
    /// The answer.
    ///
    /// - Parameters:
    ///   - local: this side's transport.
    ///   - bundle: the sent streams, made from the agreement.
    ///   - sessionID: a number below 2⁶³ that no other answer has.
    package func answer(local: TransportParameters, bundle: StreamBundle, sessionID: UInt64) -> SessionDescription {
        var answer = SessionDescription(origin: "- \(sessionID) 1 IN IP4 127.0.0.1")
        if self.bundle != nil {
            let first = transportSection.mid
            let mids = [first] + agreement.streams.map(\.mid).filter { $0 != first }
            answer.attributes.append(.init("group", "BUNDLE \(mids.joined(separator: " "))"))
        }
        if offer.attributes.contains("extmap-allow-mixed") { answer.attributes.append(.init("extmap-allow-mixed")) }
        answer.attributes.append(.init("msid-semantic", "WMS *"))
        for (index, offered) in offer.media.enumerated() {
            if let stream = agreement.streams.first(where: { $0.section == index }), let outgoing = bundle[stream.mid] {
                let takesReducedSize = offered.attributes.contains("rtcp-rsize")
                var media = open(offered, formats: stream.payloadTypes, local)
                media.describe(stream, as: outgoing, name: bundle.canonicalName, takesReducedSize: takesReducedSize)
                if index == tagged { media.describeCandidates(of: local) }
                answer.media.append(media)
            } else {
                answer.media.append(index == tagged ? silent(offered, local: local) : rejected(offered))
            }
        }
        return answer
    }

    /// The answer to a description with the bundle's transport and without a stream: the first of its formats, unused.
    private func silent(_ offered: SessionDescription.Media, local: TransportParameters) -> SessionDescription.Media {
        let format = offered.formats[0]
        var media = open(offered, formats: [format], local)
        media.attributes += [.init("inactive"), .init("rtcp-mux")]
        media.attributes += offered.attributes.filter { attribute in
            ["rtpmap", "fmtp"].contains(attribute.name) && attribute.value?.hasPrefix("\(format) ") == true
        }
        media.describeCandidates(of: local)
        return media
    }

    /// The answer to an unwanted description (RFC 9429 §5.3.1).
    private func rejected(_ offered: SessionDescription.Media) -> SessionDescription.Media {
        var media = offered
        media.port = 0
        media.attributes = offered.attributes.first("mid").map { [.init("mid", $0)] } ?? []
        media.attributes.append(.init("inactive"))
        return media
    }

    private func open(
        _ offered: SessionDescription.Media,
        formats: [String],
        _ local: TransportParameters
    ) -> SessionDescription.Media {
        var media = SessionDescription.Media(kind: offered.kind, transport: offered.transport, formats: formats)
        let setup = agreement.role == .client ? "active" : "passive"
        media.describeTransport(local, mid: offered.attributes.first("mid"), setup: setup)
        return media
    }
}
