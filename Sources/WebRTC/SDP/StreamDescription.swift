import RTP

extension AgreedStream {
    /// The payload types of all formats and their retransmissions, as in an `m=` line.
    var payloadTypes: [String] {
        formats.flatMap { [$0.parameters.payloadType, $0.parameters.retransmissionPayloadType].compactMap(\.self) }
            .map { "\($0)" }
    }
}

/// The common parts of offers and answers.
extension SessionDescription.Media {
    private mutating func add(_ name: String, _ value: String? = nil) { attributes.append(.init(name, value)) }

    /// Adds the transport. As in browsers, all descriptions of a bundle have it: some peers look for it in the one with
    /// the stream.
    mutating func describeTransport(_ local: TransportParameters, mid: String?, setup: String) {
        if let mid { add("mid", mid) }
        add("ice-ufrag", local.credentials.fragment)
        add("ice-pwd", local.credentials.password)
        add("ice-options", "trickle")
        for fingerprint in local.fingerprints { add("fingerprint", "\(fingerprint)") }
        add("setup", setup)
    }

    /// Adds a stream that this side sends, receives, or both.
    ///
    /// - Parameters:
    ///   - name: the session's canonical name.
    ///   - takesReducedSize: whether feedback may come without a report (RFC 5506).
    mutating func describe(
        _ stream: AgreedStream,
        as outgoing: OutgoingStream,
        name: String,
        takesReducedSize: Bool
    ) {
        for line in stream.extensions { add("extmap", line) }
        add(stream.isSent && stream.isReceived ? "sendrecv" : stream.isSent ? "sendonly" : "recvonly")
        if stream.isSent { add("msid", "oriel \(stream.track)") }
        add("rtcp-mux")
        if takesReducedSize { add("rtcp-rsize") }
        for format in stream.formats {
            let payloadType = format.parameters.payloadType
            add("rtpmap", "\(payloadType) \(format.codec.encoding)")
            if let specifics = format.specifics { add("fmtp", "\(payloadType) \(specifics)") }
            for kind in format.feedback { add("rtcp-fb", "\(payloadType) \(kind)") }
            if let retransmission = format.parameters.retransmissionPayloadType {
                add("rtpmap", "\(retransmission) rtx/\(format.codec.clockRate)")
                add("fmtp", "\(retransmission) apt=\(payloadType)")
            }
        }
        if !stream.isSent { return }
        if let retransmission = outgoing.retransmissionSSRC {
            add("ssrc-group", "FID \(outgoing.ssrc) \(retransmission)")
        }
        for ssrc in outgoing.sources {
            add("ssrc", "\(ssrc) cname:\(name)")
            add("ssrc", "\(ssrc) msid:oriel \(stream.track)")
        }
    }

    /// Adds the candidates, and their end if there are no more.
    mutating func describeCandidates(of local: TransportParameters) {
        for candidate in local.candidates { add("candidate", "\(candidate)") }
        if !local.isTrickling { add("end-of-candidates") }
    }
}
