import Glibc
import Media
import Posix
import RTP
import Time

@testable import WebRTC

/// Offers that browsers and media frameworks made, their addresses changed, and one that a test can change.
enum Offers {
    static let names = ["chromium", "firefox", "gstreamer", "libwebrtc"]

    static func text(_ name: String) throws -> String {
        let folder = #filePath.split(separator: "/").dropLast().joined(separator: "/")
        let bytes = try FileDescriptor.open("/\(folder)/Offers/\(name).sdp", O_RDONLY).readBytes(1 << 20)
        return String(decoding: bytes, as: UTF8.self)
    }

    static func description(_ name: String) throws -> SessionDescription {
        try SessionDescription(parsing: text(name))
    }
}

/// An offer as lines: a viewer that wants VP8 with retransmissions and says no more than it must.
struct Offer {
    static let fingerprint = "sha-256 " + (0..<32).map { "0\($0 % 10)" }.joined(separator: ":")

    var lines = [
        "v=0", "o=- 1 1 IN IP4 127.0.0.1", "s=-", "t=0 0", "a=group:BUNDLE 0",
        "m=video 9 UDP/TLS/RTP/SAVPF 96 97", "c=IN IP4 0.0.0.0", "a=mid:0",
        "a=ice-ufrag:abcd", "a=ice-pwd:0123456789abcdefghijkl", "a=fingerprint:\(fingerprint)", "a=setup:actpass",
        "a=recvonly", "a=rtcp-mux", "a=rtpmap:96 VP8/90000", "a=rtcp-fb:96 nack", "a=rtpmap:97 rtx/90000",
        "a=fmtp:97 apt=96",
    ]

    /// Without the lines that begin so.
    func without(_ beginnings: String...) -> Offer {
        var offer = self
        offer.lines.removeAll { line in beginnings.contains { line.hasPrefix($0) } }
        return offer
    }

    /// With the first line that begins so replaced by others.
    func replacing(_ beginning: String, with lines: String...) -> Offer {
        var offer = self
        let index = offer.lines.firstIndex { $0.hasPrefix(beginning) }!
        offer.lines.replaceSubrange(index...index, with: lines)
        return offer
    }

    /// With lines at the end, where they belong to the last media description.
    func adding(_ lines: String...) -> Offer {
        var offer = self
        offer.lines += lines
        return offer
    }

    var text: String { lines.map { $0 + "\r\n" }.joined() }

    func negotiate(_ codecs: [VideoCodec] = [.vp8, .vp9]) throws -> Negotiation {
        try negotiate([codecs])
    }

    func negotiate(_ codecs: [[VideoCodec]]) throws -> Negotiation {
        try Negotiation(offer: description, codecs: codecs)
    }

    var description: SessionDescription { get throws { try SessionDescription(parsing: text) } }
}

extension AgreedStream.Format {
    var videoCodec: VideoCodec { if case .video(let codec) = codec { codec } else { preconditionFailure() } }
}

extension Negotiation {
    /// Of the first stream.
    var format: AgreedStream.Format { formats[0] }
    var formats: [AgreedStream.Format] { agreement.streams[0].formats }
    var mid: String { agreement.streams[0].mid }
    var codec: VideoCodec { format.videoCodec }
    var video: OutgoingStream.Parameters { format.parameters }
}

extension Negotiation {
    static let localTransport = TransportParameters(
        credentials: ICECredentials(fragment: "efgh", password: "mnopqrstuvwxyzABCDEFGH")!,
        fingerprints: [Fingerprint(.sha256, [UInt8](repeating: 0xAB, count: 32))],
        candidates: [Candidate(foundation: "1", priority: 2_130_706_431, address: "192.0.2.1", port: 5000, kind: .host)]
    )

    /// The answer that `localTransport` gives, always with the same random numbers.
    var answer: SessionDescription { answerAndBundle.answer }

    var answerAndBundle: (answer: SessionDescription, bundle: StreamBundle) {
        var random = SplitMix64(seed: 1)
        let bundle = StreamBundle(
            agreement.streams.map { stream in
                let format = stream.formats[0]
                let history =
                    format.codec == .opus
                    ? PacketHistory(soundOf: 1000, capacity: 1)
                    : PacketHistory(codec: format.videoCodec, maximumPayloadSize: 1000, capacity: 1, using: &random)
                return (format.parameters, history)
            },
            pace: .video(targetBitrate: 1_000_000),
            clock: ClockReading(monotonic: .start, wall: 0),
            using: &random
        )
        return (answer(local: Self.localTransport, bundle: bundle, sessionID: 42), bundle)
    }
}
