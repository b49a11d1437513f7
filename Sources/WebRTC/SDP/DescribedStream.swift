import Media
import RTP

/// What a peer's description lacks or says wrongly.
struct Shortcoming: Error {
    /// What stands there, after "the offer" or "the answer".
    let what: String
    /// What should.
    let remedy: String

    init(_ what: String, remedy: String = "") {
        self.what = what
        self.remedy = remedy
    }
}

/// What a media description of a peer, be it in an offer or in an answer, says about its stream.
extension SessionDescription.Media {
    struct Direction {
        let sends: Bool
        let receives: Bool
    }

    /// A format that this program can send.
    struct Format: Equatable {
        let codec: StreamCodec
        let payloadType: UInt8
        let retransmission: UInt8?
        /// The format's parameters for the answer; nil where it has none.
        let specifics: String?
    }

    /// Whether an offer's description asks to receive something of a kind.
    func asksFor(_ kind: String, in offer: SessionDescription) -> Bool {
        self.kind == kind && (port != 0 || attributes.contains("bundle-only")) && direction(in: offer).receives
    }

    /// What of a stream is agreed on; nil if there is no common codec.
    ///
    /// - Parameter section: the place of the media description.
    func stream(
        _ local: LocalStream,
        in description: SessionDescription,
        _ section: Int
    ) throws(Shortcoming) -> Negotiation.Stream? {
        guard isProtectedRTP else { throw Shortcoming("wants \(transport)", remedy: "UDP/TLS/RTP/SAVPF") }
        guard attributes.contains("rtcp-mux") else {
            throw Shortcoming("keeps RTCP on a port of its own", remedy: "a=rtcp-mux")
        }
        let described = codecs
        let agreed = local.codecs.compactMap { group in
            group.lazy.compactMap { codec in described.first { $0.codec == codec } }.first
        }
        if agreed.isEmpty { return nil }
        let (extensions, lines) = extensions(of: description, for: agreed.map(\.codec))
        let mid = attributes.first("mid") ?? ""
        let formats = agreed.map { format in
            let described = feedback(for: format.payloadType)
            let feedback = format.codec.feedback.filter { described.contains($0) }
            var extensions = extensions
            if format.codec != .video(.av1) { extensions.dependencyDescriptor = nil }
            let parameters = OutgoingStream.Parameters(
                payloadType: format.payloadType,
                retransmissionPayloadType: feedback.contains("nack") ? format.retransmission : nil,
                canAskForRepair: !feedback.isEmpty,
                extensions: extensions,
                mid: mid
            )
            return Negotiation.Format(
                codec: format.codec,
                parameters: parameters,
                specifics: format.specifics,
                feedback: feedback
            )
        }
        return Negotiation.Stream(
            mid: mid,
            track: local.track,
            formats: formats,
            extensions: lines,
            section: section
        )
    }

    var isProtectedRTP: Bool { transport.hasSuffix("TLS/RTP/SAVPF") || transport.hasSuffix("TLS/RTP/SAVP") }

    /// The direction, which a description may inherit from the session.
    func direction(in offer: SessionDescription) -> Direction {
        for attributes in [attributes, offer.attributes] {
            for attribute in attributes {
                switch attribute.name {
                case "recvonly": return Direction(sends: false, receives: true)
                case "sendrecv": return Direction(sends: true, receives: true)
                case "sendonly": return Direction(sends: true, receives: false)
                case "inactive": return Direction(sends: false, receives: false)
                default: break
                }
            }
        }
        return Direction(sends: true, receives: true)
    }

    /// Payload types with the names and parameters that the description gives them, in the offered order.
    private var encodings: [(payloadType: UInt8, name: String, parameters: [String: String])] {
        let names = Dictionary(attributes.all("rtpmap").compactMap { Self.split($0) }) { first, _ in first }
        let parameters = Dictionary(attributes.all("fmtp").compactMap { Self.split($0) }) { first, _ in first }
        var seen: Set<String> = []
        return formats.compactMap { format in
            guard seen.insert(format).inserted, let payloadType = UInt8(digits: format), payloadType < 128,
                let name = names[format]
            else {
                return nil
            }
            return (payloadType, name.uppercased(), Self.parameters(parameters[format] ?? ""))
        }
    }

    /// The names of all codecs that are offered, for people.
    var encodingNames: [String] {
        var names: [String] = []
        for encoding in encodings {
            let name = String(encoding.name.prefix { $0 != "/" })
            if !names.contains(name) { names.append(name) }
        }
        return names
    }

    /// The formats that this program can send: VP8, VP9 and AV1 of profile 0 (8 bits, 4:2:0), and Opus.
    var codecs: [Format] {
        let encodings = encodings
        let retransmissions = Dictionary(
            encodings.filter { $0.name == "RTX/\(VideoCodec.clockRate)" }
                .map { ($0.parameters["apt"] ?? "", $0.payloadType) }
        ) { first, _ in first }
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
                // Some compare all three with what they offered.
                specifics = ["level-idx", "profile", "tier"].compactMap { name in
                    encoding.parameters[name].map { "\(name)=\($0)" }
                }.joined(separator: ";")
            }
            return Format(
                codec: codec,
                payloadType: encoding.payloadType,
                retransmission: retransmissions["\(encoding.payloadType)"],
                specifics: specifics == "" ? nil : specifics
            )
        }
    }

    /// The kinds of feedback (RFC 4585 §4.2) offered for a payload type.
    func feedback(for payloadType: UInt8) -> [String] {
        attributes.all("rtcp-fb").compactMap { Self.split($0) }
            .filter { $0.0 == "\(payloadType)" || $0.0 == "*" }.map(\.1)
    }

    /// The header extensions in use, and the values of `extmap` lines that answer them (RFC 8285 §5).
    private func extensions(of offer: SessionDescription, for codecs: [StreamCodec]) -> (
        HeaderExtensions, lines: [String]
    ) {
        var extensions = HeaderExtensions()
        var lines: [String] = []
        for line in attributes.all("extmap") + offer.attributes.all("extmap") {
            let words = line.split(separator: " ")
            guard words.count >= 2 else { continue }
            let key = words[0].split(separator: "/")
            guard let identifier = key.first.flatMap({ UInt8(digits: $0) }), HeaderExtensions.identifiers ~= identifier,
                key.count == 1 || key[1] == "recvonly" || key[1] == "sendrecv"
            else { continue }
            guard let (slot, uri) = HeaderExtensions.uris.first(where: { $0.uri == words[1] }),
                slot != \.dependencyDescriptor || codecs.contains(.video(.av1))
            else { continue }
            guard extensions[keyPath: slot] == nil else { continue }
            extensions[keyPath: slot] = identifier
            lines.append("\(identifier)\(key.count == 1 ? "" : "/sendonly") \(uri)")
        }
        return (extensions, lines)
    }

    /// A payload type and what stands after it.
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
    /// The kinds of feedback that a stream of the codec takes (RFC 4585 §4.2).
    var feedback: [String] { kind == "video" ? ["ccm fir", "nack", "nack pli"] : ["nack"] }
}

extension HeaderExtensions {
    /// By what name descriptions know each.
    static var uris: [(slot: WritableKeyPath<HeaderExtensions, UInt8?>, uri: String)] {
        [
            (\.mid, "urn:ietf:params:rtp-hdrext:sdes:mid"),
            (\.playoutDelay, "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"),
            (\.captureTime, "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"),
            (
                \.dependencyDescriptor,
                "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
            ),
        ]
    }
}

extension SessionDescription {
    /// The mids of the bundle that a description is in, if it is in one.
    func bundle(of section: Media) -> [String]? {
        guard let mid = section.attributes.first("mid") else { return nil }
        let groups = attributes.all("group").lazy.map { $0.split(separator: " ").map(String.init) }
        return groups.first { $0.first == "BUNDLE" && $0.dropFirst().contains(mid) }.map { Array($0.dropFirst()) }
    }

    /// The index of the description that a bundle's transport is that of, as an answer has it (RFC 9143 §7.3.1): the first
    /// that can be there, or that has a stream.
    ///
    /// - Parameter sections: those with a stream; never empty.
    func tagged(in bundle: [String], for sections: [Int]) -> Int {
        let indices = Dictionary(
            media.enumerated().compactMap { index, media in media.attributes.first("mid").map { ($0, index) } }
        ) { first, _ in first }
        return bundle.lazy.compactMap { indices[$0] }.first { sections.contains($0) || media[$0].canBeTagged }
            ?? sections[0]
    }

    /// Where the transport may be described; the first place that does counts.
    func transportPlaces(_ sections: [Int]) -> [[Attribute]] {
        sections.map { media[$0].attributes } + [attributes, media[0].attributes]
    }
}

extension SessionDescription.Media {
    /// Whether an answer can take the description without a stream.
    fileprivate var canBeTagged: Bool {
        port != 0 && isProtectedRTP && attributes.contains("rtcp-mux") && !attributes.contains("bundle-only")
    }
}

extension TransportParameters {
    /// - Parameter places: where the transport may be described, the first that does counts.
    init(in places: [[SessionDescription.Attribute]], isLite: Bool) throws(Shortcoming) {
        func first(_ name: String) -> String? { places.lazy.compactMap { $0.first(name) }.first }
        guard let fragment = first("ice-ufrag"), let password = first("ice-pwd"),
            let credentials = ICECredentials(fragment: fragment, password: password)
        else { throw Shortcoming("gives no valid ICE credentials") }
        // Those of the description itself replace the session's (RFC 8122 §5).
        let hashes = places.lazy.map { $0.all("fingerprint") }.first { !$0.isEmpty } ?? []
        let fingerprints = hashes.compactMap { Fingerprint(parsing: $0) }
        guard !fingerprints.isEmpty else {
            throw Shortcoming("gives no certificate fingerprint of SHA-256, SHA-384 or SHA-512")
        }
        let candidates = places.lazy.map { $0.all("candidate") }.first { !$0.isEmpty } ?? []
        self.init(
            credentials: credentials,
            fingerprints: fingerprints,
            candidates: candidates.compactMap { Candidate(parsing: $0) },
            isLite: isLite
        )
    }
}
