import Media
package import RTP

/// The reason why the answer to this side's offer leads to no session.
package struct UnacceptableAnswer: Error, Equatable, CustomStringConvertible {
    /// The rest of a sentence about the answer.
    let flaw: String

    package var description: String { "the answer \(flaw)" }
}

/// An offer of streams in one bundle, and the result of its answer (RFC 9429 §5.2, §5.11).
package struct SessionOffer: Equatable, Sendable {
    /// All streams with all their formats, in the order of the media descriptions, whose mids are numbers from 0.
    package let streams: [AgreedStream]

    /// - Parameter locals: 1…`StreamBundle.limit`. All codecs of each are offered.
    package init(_ locals: [LocalStream]) {
        precondition(1...StreamBundle.limit ~= locals.count)
        streams = locals.enumerated().map { AgreedStream(offering: $1, in: $0) }
    }

    /// The offer.
    ///
    /// - Parameters:
    ///   - local: this side's transport.
    ///   - bundle: the sent streams, made from the first format of each.
    ///   - sessionID: a number below 2⁶³ that no other offer has.
    package func description(local: TransportParameters, bundle: StreamBundle, sessionID: UInt64)
        -> SessionDescription
    {
        var offer = SessionDescription(origin: "- \(sessionID) 1 IN IP4 127.0.0.1")
        offer.attributes = [
            .init("group", "BUNDLE \(streams.map(\.mid).joined(separator: " "))"), .init("msid-semantic", "WMS *"),
        ]
        for stream in streams {
            guard let outgoing = bundle[stream.mid] else { continue }
            var media = SessionDescription.Media(
                kind: stream.formats[0].codec.kind,
                transport: "UDP/TLS/RTP/SAVPF",
                formats: stream.payloadTypes
            )
            media.describeTransport(local, mid: stream.mid, setup: "actpass")
            media.describe(stream, as: outgoing, name: bundle.canonicalName, takesReducedSize: true)
            // Each description has them, as the answer may reject the first one.
            media.describeCandidates(of: local)
            offer.media.append(media)
        }
        return offer
    }

    package func agreement(in answer: SessionDescription) throws(UnacceptableAnswer) -> Agreement {
        guard answer.media.count == streams.count else {
            let flaw = "it has \(answer.media.count) media descriptions for \(streams.count)"
            throw UnacceptableAnswer(flaw: "is not to this offer: \(flaw)")
        }
        var accepted: [AgreedStream] = []
        for (offered, media) in zip(streams, answer.media) {
            let kind = offered.formats[0].codec.kind
            guard media.kind == kind, media.attributes.first("mid") ?? offered.mid == offered.mid else {
                let flaw = "it has other media where \(kind) \(offered.mid) was offered"
                throw UnacceptableAnswer(flaw: "is not to this offer: \(flaw)")
            }
            guard media.port != 0, media.receives(in: answer) || offered.isReceived && media.sends(in: answer) else {
                continue
            }
            do throws(Shortcoming) {
                guard let stream = try offered.agreed(in: media, of: answer) else {
                    throw Shortcoming(what: "takes \(kind) \(offered.mid) in no format that was offered")
                }
                accepted.append(stream)
            } catch {
                throw UnacceptableAnswer(flaw: error.what)
            }
        }
        guard let first = accepted.first else { throw UnacceptableAnswer(flaw: "rejects all that was offered") }
        let bundle = answer.bundle(of: answer.media[first.section]) ?? []
        guard accepted.count == 1 || accepted.allSatisfy({ bundle.contains($0.mid) }) else {
            throw UnacceptableAnswer(flaw: "takes streams apart that were offered in one bundle")
        }
        let tagged = answer.tagged(in: bundle, for: accepted.map(\.section))
        do throws(Shortcoming) {
            return try Agreement(accepted, in: answer, tagged: tagged, isOffer: false)
        } catch {
            throw UnacceptableAnswer(flaw: error.what)
        }
    }
}

extension AgreedStream {
    /// This side's identifiers of header extensions, the same in all descriptions of a bundle.
    private static let extensions = {
        var extensions = HeaderExtensions.empty
        for (index, (slot, _)) in HeaderExtensions.uris.enumerated() { extensions[keyPath: slot] = UInt8(index + 1) }
        return extensions
    }()

    fileprivate init(offering local: LocalStream, in section: Int) {
        let codecs = Array(local.codecs.joined())
        var used = Self.extensions
        if local.kind == "audio" { (used.playoutDelay, used.transportNumber, used.colourSpace) = (nil, nil, nil) }
        if local.kind != "audio" || !local.receives { used.soundLevel = nil }
        if !codecs.contains(.video(.av1)) { used.dependencyDescriptor = nil }
        mid = "\(section)"
        track = local.track
        isReceived = local.receives
        self.section = section
        extensions = HeaderExtensions.uris.compactMap { slot, uri in used[keyPath: slot].map { "\($0) \(uri)" } }
        formats = codecs.map { codec in
            let (payloadType, retransmission, specifics) = codec.offer
            var parameters = OutgoingStream.Parameters(
                payloadType: payloadType,
                retransmissionPayloadType: retransmission
            )
            (parameters.extensions, parameters.mid) = (used.suiting(codec), "\(section)")
            return AgreedStream.Format(
                codec: codec,
                parameters: parameters,
                specifics: codec == .opus && local.receives ? StreamCodec.wishesForSound : specifics,
                feedback: codec.feedback
            )
        }
    }

    /// The stream with the formats of the answer; nil if there are none.
    fileprivate func agreed(
        in media: SessionDescription.Media,
        of answer: SessionDescription
    ) throws(Shortcoming) -> AgreedStream? {
        let local = LocalStream(track: track, codecs: formats.map { [$0.codec] }, receives: isReceived)
        guard var stream = try media.stream(local, in: answer, section) else { return nil }
        stream.mid = mid
        for (index, format) in stream.formats.enumerated() {
            var parameters = format.parameters
            parameters.mid = mid
            // An answer neither adds extensions nor changes their identifiers (RFC 8285 §5).
            let offered = formats.first { $0.codec == format.codec }!.parameters
            for (slot, _) in HeaderExtensions.uris
            where parameters.extensions[keyPath: slot] != offered.extensions[keyPath: slot] {
                parameters.extensions[keyPath: slot] = nil
            }
            if offered.retransmissionPayloadType == nil { parameters.retransmissionPayloadType = nil }
            stream.formats[index].parameters = parameters
        }
        return stream
    }
}

extension StreamCodec {
    /// Payload types from the dynamic range, as in browsers, and the text of the `fmtp` line.
    fileprivate var offer: (media: UInt8, retransmission: UInt8?, specifics: String?) {
        switch self {
        case .video(.vp8): (96, 97, nil)
        case .video(.vp9): (98, 99, "profile-id=0")
        case .video(.av1): (100, 101, "level-idx=8;profile=0;tier=0")
        // Media servers pass on two channels only if the publisher says so, both as a sender and as a receiver (RFC
        // 7587 §6.1).
        case .opus: (111, nil, "minptime=10;sprop-stereo=1;stereo=1;useinbandfec=1")
        }
    }
}
