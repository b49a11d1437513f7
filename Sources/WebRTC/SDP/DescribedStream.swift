import Media
import RTP

/// The stream of a peer's media description, in an offer or an answer.
extension SessionDescription.Media {
    /// How well an offer's description suits a stream: 0, the best, if it receives the stream and sends one that this
    /// side receives; then if it only receives the stream; then if it only sends. Nil if it does none of these.
    func rank(for local: LocalStream, in offer: SessionDescription) -> Int? {
        guard kind == local.kind, port != 0 || attributes.contains("bundle-only") else { return nil }
        return switch (local.sends && receives(in: offer), local.receives && sends(in: offer)) {
        case (true, true): 0
        case (true, false): 1
        case (false, true): 2
        case (false, false): nil
        }
    }

    /// The common part of a stream; nil if there is no common codec.
    ///
    /// - Parameter section: the index of the media description.
    func stream(
        _ local: LocalStream,
        in description: SessionDescription,
        _ section: Int
    ) throws(Shortcoming) -> AgreedStream? {
        guard isProtectedRTP else { throw Shortcoming(what: "wants \(transport)", remedy: "UDP/TLS/RTP/SAVPF") }
        guard attributes.contains("rtcp-mux") else {
            throw Shortcoming(
                what: "lacks a=rtcp-mux (it is cut off, or keeps RTCP on a port of its own)",
                remedy: "a=rtcp-mux"
            )
        }
        let described = describedFormats
        var agreed = local.codecs.compactMap { group in
            group.lazy.compactMap { codec in described.first { $0.codec == codec } }.first
        }
        if agreed.isEmpty { return nil }
        // Transport-wide numbers and feedback on them belong together. A packet that is repeated in its own stream
        // cannot have another number: two different packets under one sequence number would give away a key.
        let isNumbered = agreed.allSatisfy {
            $0.feedback.contains("transport-cc") && $0.parameters.retransmissionPayloadType != nil
        }
        let isSent = local.sends && receives(in: description)
        let isReceived = local.receives && sends(in: description)
        let (extensions, lines) = extensions(
            of: description,
            for: agreed.map(\.codec),
            isNumbered: isNumbered,
            isReceived: isReceived,
            as: isSent && isReceived ? "sendrecv" : isSent ? "sendonly" : "recvonly"
        )
        let unused = extensions.transportNumber == nil ? "transport-cc" : "goog-remb"
        let mid = attributes.first("mid") ?? ""
        for index in agreed.indices {
            agreed[index].feedback.removeAll { $0 == unused }
            agreed[index].parameters.mid = mid
            agreed[index].parameters.extensions = extensions.suiting(agreed[index].codec)
            if isReceived, agreed[index].codec == .opus { agreed[index].specifics = StreamCodec.wishesForSound }
        }
        return AgreedStream(
            mid: mid,
            track: local.track,
            formats: agreed,
            extensions: lines,
            section: section,
            isSent: isSent,
            isReceived: isReceived
        )
    }

    var isProtectedRTP: Bool { transport.hasSuffix("TLS/RTP/SAVPF") || transport.hasSuffix("TLS/RTP/SAVP") }

    package func receives(in description: SessionDescription) -> Bool {
        ["sendrecv", "recvonly"].contains(direction(in: description))
    }

    func sends(in description: SessionDescription) -> Bool {
        ["sendrecv", "sendonly"].contains(direction(in: description))
    }

    /// A description may inherit the direction from the session. Without one it is both (RFC 8866 §6.7).
    private func direction(in description: SessionDescription) -> String {
        let directions = ["recvonly", "sendrecv", "sendonly", "inactive"]
        let line =
            attributes.first { directions.contains($0.name) }
            ?? description.attributes.first { directions.contains($0.name) }
        return line?.name ?? "sendrecv"
    }

    /// Payload types with their names and parameters in the description, in the offered order.
    private var encodings: [(payloadType: UInt8, name: String, parameters: [String: String])] {
        let names = Dictionary(attributes.all("rtpmap").compactMap { Self.split($0) }) { first, _ in first }
        let parameters = Dictionary(attributes.all("fmtp").compactMap { Self.split($0) }) { first, _ in first }
        var seen: Set<String> = []
        return formats.compactMap { format in
            guard seen.insert(format).inserted, let payloadType = UInt8(digits: format), payloadType < 128,
                let name = names[format]
            else { return nil }
            return (payloadType, name.uppercased(), Self.parameters(parameters[format] ?? ""))
        }
    }

    /// The names of all offered codecs, for people.
    var encodingNames: [String] {
        encodings.reduce(into: []) { names, encoding in
            let name = String(encoding.name.prefix { $0 != "/" })
            if !names.contains(name) { names.append(name) }
        }
    }

    /// The formats that this program can send: VP8, VP9 and AV1 of profile 0 (8 bits, 4:2:0), and Opus.
    private var describedFormats: [AgreedStream.Format] {
        let encodings = encodings
        let retransmissions = Dictionary(
            encodings.filter { $0.name == "RTX/\(VideoCodec.clockRate)" }
                .map { ($0.parameters["apt"] ?? "", $0.payloadType) }
        ) { first, _ in first }
        // A line names one format, or all by `*` (RFC 4585 §4.2).
        let described = Set(attributes.all("rtcp-fb").compactMap { Self.split($0) }.map { "\($0) \($1)" })
        return encodings.compactMap { encoding in
            guard let codec = StreamCodec.allCases.first(where: { encoding.name == $0.encoding.uppercased() }),
                codec.kind == kind
            else { return nil }
            var specifics: String?
            switch codec {
            case .video(.vp8), .opus: break
            case .video(.vp9):
                guard encoding.parameters["profile-id"] ?? "0" == "0" else { return nil }
                specifics = "profile-id=0"
            case .video(.av1):
                guard encoding.parameters["profile"] ?? "0" == "0" else { return nil }
                // Some peers compare all three with their offer.
                specifics = ["level-idx", "profile", "tier"].compactMap { name in
                    encoding.parameters[name].map { "\(name)=\($0)" }
                }.joined(separator: ";")
            }
            let feedback = codec.feedback.filter {
                described.contains("\(encoding.payloadType) \($0)") || described.contains("* \($0)")
            }
            let retransmission = feedback.contains("nack") ? retransmissions["\(encoding.payloadType)"] : nil
            var parameters = OutgoingStream.Parameters(
                payloadType: encoding.payloadType,
                retransmissionPayloadType: retransmission
            )
            parameters.canAskForRepair = feedback.contains { StreamCodec.repairs.contains($0) }
            return AgreedStream.Format(
                codec: codec,
                parameters: parameters,
                specifics: specifics == "" ? nil : specifics,
                feedback: feedback
            )
        }
    }

    /// The header extensions in use, and the `extmap` lines that answer them (RFC 8285 §5).
    private func extensions(
        of offer: SessionDescription,
        for codecs: [StreamCodec],
        isNumbered: Bool,
        isReceived: Bool,
        as direction: String
    ) -> (HeaderExtensions, lines: [String]) {
        var extensions = HeaderExtensions.empty
        var lines: [String] = []
        for line in attributes.all("extmap") + offer.attributes.all("extmap") {
            let words = line.split(separator: " ")
            guard words.count >= 2 else { continue }
            let key = words[0].split(separator: "/")
            guard let identifier = key.first.flatMap({ UInt8(digits: $0) }), HeaderExtensions.identifiers ~= identifier,
                key.count == 1 || key[1] == "sendrecv" || key[1] == (direction == "recvonly" ? "sendonly" : "recvonly"),
                let (slot, uri) = HeaderExtensions.uris.first(where: { $0.uri == words[1] }),
                slot != \.dependencyDescriptor || codecs.contains(.video(.av1)), extensions[keyPath: slot] == nil,
                slot != \.transportNumber || isNumbered,
                slot != \.soundLevel || isReceived && codecs.contains(.opus),
                slot != \.colourSpace || !codecs.contains(.opus)
            else { continue }
            extensions[keyPath: slot] = identifier
            let isPart = key.count == 2 && key[1] == "recvonly"
            lines.append("\(identifier)\(key.count == 1 ? "" : isPart ? "/sendonly" : "/\(direction)") \(uri)")
        }
        return (extensions, lines)
    }

    /// A payload type and the text after it.
    private static func split(_ text: String) -> (String, String)? {
        let words = text.split(separator: " ", maxSplits: 1)
        return words.count == 2 ? (String(words[0]), String(words[1])) : nil
    }

    /// `name=value` pairs between semicolons, names in lower case.
    private static func parameters(_ text: String) -> [String: String] {
        var parameters: [String: String] = [:]
        for pair in text.split(separator: ";") {
            let sides = pair.split(separator: "=", maxSplits: 1).map { $0.filter { !$0.isWhitespace } }
            if sides.count == 2 { parameters[sides[0].lowercased()] = sides[1] }
        }
        return parameters
    }
}

extension StreamCodec {
    /// The kinds of feedback for a stream of the codec (RFC 4585 §4.2).
    var feedback: [String] {
        kind == "video" ? ["ccm fir", "goog-remb", "nack", "nack pli", "transport-cc"] : ["nack"]
    }

    /// The wishes for the peer's Opus (RFC 7587 §6.1): packets of 10 ms and more, each with a poor copy of the one
    /// before if packets are lost, and next to none in silence.
    static let wishesForSound = "minptime=10;useinbandfec=1;usedtx=1"

    /// The kinds of feedback by which a receiver asks for repair.
    static let repairs = ["ccm fir", "nack", "nack pli"]
}

extension HeaderExtensions {
    /// The extensions for packets of a codec.
    func suiting(_ codec: StreamCodec) -> HeaderExtensions {
        var own = self
        if codec != .video(.av1) { own.dependencyDescriptor = nil }
        return own
    }

    /// The extensions, with their URIs in descriptions.
    static var uris: [(slot: WritableKeyPath<HeaderExtensions, UInt8?>, uri: String)] {
        [
            (\.mid, "urn:ietf:params:rtp-hdrext:sdes:mid"),
            (\.playoutDelay, "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"),
            (\.captureTime, "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"),
            (\.transportNumber, "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"),
            (
                \.dependencyDescriptor,
                "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
            ),
            (\.soundLevel, "urn:ietf:params:rtp-hdrext:ssrc-audio-level"),
            (\.colourSpace, "http://www.webrtc.org/experiments/rtp-hdrext/color-space"),
        ]
    }
}
