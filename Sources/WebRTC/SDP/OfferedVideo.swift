import Media
import RTP

/// What a media description of an offer says about its stream.
extension SessionDescription.Media {
    struct Direction {
        let sends: Bool
        let receives: Bool
    }

    /// A format that this program can send.
    struct Format: Equatable {
        let codec: VideoCodec
        let payloadType: UInt8
        let retransmission: UInt8?
        /// The format's parameters for the answer; nil where it has none.
        let parameters: String?
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

    /// The formats that this program can send: VP8, and VP9 and AV1 of profile 0 (8 bits, 4:2:0).
    var codecs: [Format] {
        let encodings = encodings
        let retransmissions = Dictionary(
            encodings.filter { $0.name == "RTX/\(VideoCodec.clockRate)" }
                .map { ($0.parameters["apt"] ?? "", $0.payloadType) }
        ) { first, _ in first }
        return encodings.compactMap { encoding in
            guard
                let codec = VideoCodec.allCases.first(where: {
                    encoding.name == "\($0.rawValue)/\(VideoCodec.clockRate)"
                })
            else { return nil }
            let parameters: String?
            switch codec {
            case .vp8: parameters = nil
            case .vp9:
                guard encoding.parameters["profile-id"] ?? "0" == "0" else { return nil }
                parameters = "profile-id=0"
            case .av1:
                guard encoding.parameters["profile"] ?? "0" == "0" else { return nil }
                // Some compare all three with what they offered.
                parameters = ["level-idx", "profile", "tier"].compactMap { name in
                    encoding.parameters[name].map { "\(name)=\($0)" }
                }.joined(separator: ";")
            }
            return Format(
                codec: codec,
                payloadType: encoding.payloadType,
                retransmission: retransmissions["\(encoding.payloadType)"],
                parameters: parameters == "" ? nil : parameters
            )
        }
    }

    /// The kinds of feedback (RFC 4585 §4.2) offered for a payload type.
    func feedback(for payloadType: UInt8) -> [String] {
        attributes.all("rtcp-fb").compactMap { Self.split($0) }
            .filter { $0.0 == "\(payloadType)" || $0.0 == "*" }.map(\.1)
    }

    /// The header extensions in use, and the values of the answer's `extmap` lines (RFC 8285 §5).
    func extensions(of offer: SessionDescription, for codecs: [VideoCodec]) -> (HeaderExtensions, lines: [String]) {
        var extensions = HeaderExtensions()
        var lines: [String] = []
        for line in attributes.all("extmap") + offer.attributes.all("extmap") {
            let words = line.split(separator: " ")
            guard words.count >= 2 else { continue }
            let key = words[0].split(separator: "/")
            guard let identifier = key.first.flatMap({ UInt8(digits: $0) }), HeaderExtensions.identifiers ~= identifier,
                key.count == 1 || key[1] == "recvonly" || key[1] == "sendrecv"
            else { continue }
            let slot: WritableKeyPath<HeaderExtensions, UInt8?>
            switch words[1] {
            case "urn:ietf:params:rtp-hdrext:sdes:mid": slot = \.mid
            case "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay": slot = \.playoutDelay
            case "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time": slot = \.captureTime
            case "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension":
                guard codecs.contains(.av1) else { continue }
                slot = \.dependencyDescriptor
            default: continue
            }
            guard extensions[keyPath: slot] == nil else { continue }
            extensions[keyPath: slot] = identifier
            lines.append("\(identifier)\(key.count == 1 ? "" : "/sendonly") \(words[1])")
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
