import Media
import Testing
import WebRTC

@testable import RTP

/// What is agreed on with browsers and media frameworks.
@Suite struct RealOfferTests {
    struct Expected: Sendable {
        var name: String
        var codecs: [VideoCodec] = [.vp8, .vp9]
        var codec: VideoCodec
        var payloadType: UInt8
        var retransmission: UInt8?
        var extensions = HeaderExtensions()
        var extensionLines: [String] = []
        var mid = "0"
        var candidates: Int
    }

    private static let midURI = "urn:ietf:params:rtp-hdrext:sdes:mid"
    private static let playoutURI = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
    private static let numberURI =
        "http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01"
    private static let colourURI = "http://www.webrtc.org/experiments/rtp-hdrext/color-space"
    private static let chromium = HeaderExtensions(mid: 9, playoutDelay: 5, transportNumber: 4, colourSpace: 8)
    private static let chromiumLines = ["4 \(numberURI)", "5 \(playoutURI)", "8 \(colourURI)", "9 \(midURI)"]
    private static let firefox = HeaderExtensions(mid: 3, playoutDelay: 6, transportNumber: 7)
    private static let firefoxLines = ["3 \(midURI)", "6/sendonly \(playoutURI)", "7 \(numberURI)"]

    static let all = [
        Expected(
            name: "chromium",
            codec: .vp8,
            payloadType: 96,
            retransmission: 97,
            extensions: chromium,
            extensionLines: chromiumLines,
            candidates: 2
        ),
        Expected(
            name: "chromium",
            codecs: [.vp9, .vp8],
            codec: .vp9,
            payloadType: 98,
            retransmission: 99,
            extensions: chromium,
            extensionLines: chromiumLines,
            candidates: 2
        ),
        Expected(
            name: "firefox",
            codec: .vp8,
            payloadType: 120,
            retransmission: 124,
            extensions: firefox,
            extensionLines: firefoxLines,
            candidates: 4
        ),
        Expected(
            name: "firefox",
            codecs: [.vp9],
            codec: .vp9,
            payloadType: 121,
            retransmission: 125,
            extensions: firefox,
            extensionLines: firefoxLines,
            candidates: 4
        ),
        Expected(name: "gstreamer", codec: .vp9, payloadType: 96, mid: "video0", candidates: 6),
        Expected(
            name: "libwebrtc",
            codec: .vp8,
            payloadType: 96,
            retransmission: 97,
            extensions: chromium,
            extensionLines: chromiumLines,
            candidates: 2
        ),
    ]

    @Test(arguments: all)
    func isAnswered(expected: Expected) throws {
        let offer = try Offers.description(expected.name)
        let negotiation = try Negotiation(offer: offer, codecs: [expected.codecs])
        #expect(negotiation.codec == expected.codec)
        #expect(negotiation.mid == expected.mid)
        #expect(negotiation.agreement.role == .client)
        #expect(negotiation.agreement.remote.candidates.count == expected.candidates)
        #expect(negotiation.agreement.remote.fingerprints.count >= 1)
        #expect(!negotiation.agreement.remote.isLite)
        #expect(
            negotiation.video
                == OutgoingStream.Parameters(
                    payloadType: expected.payloadType,
                    retransmissionPayloadType: expected.retransmission,
                    extensions: expected.extensions,
                    mid: expected.mid
                )
        )
        try check(negotiation.answer, to: offer, expected)
    }

    private func check(_ answer: SessionDescription, to offer: SessionDescription, _ expected: Expected) throws {
        #expect(answer.media.map(\.kind) == offer.media.map(\.kind))
        #expect(answer.media.map(\.transport) == offer.media.map(\.transport))
        #expect(answer.media.map { $0.port != 0 } == offer.media.indices.map { $0 == 0 })
        for (rejected, offered) in zip(answer.media, offer.media).dropFirst() {
            #expect(rejected.formats == offered.formats)
            #expect(rejected.attributes.contains(.init("inactive")))
            #expect(rejected.attributes.first { $0.name == "mid" } == offered.attributes.first { $0.name == "mid" })
        }
        #expect(answer.attributes.contains(.init("group", "BUNDLE \(expected.mid)")))
        let media = answer.media[0]
        let payloadTypes = [expected.payloadType] + [expected.retransmission].compactMap { $0 }
        #expect(media.formats == payloadTypes.map { "\($0)" })
        func values(_ name: String) -> [String] { media.attributes.filter { $0.name == name }.compactMap(\.value) }
        #expect(values("mid") == [expected.mid])
        #expect(values("extmap") == expected.extensionLines)
        let isNumbered = expected.extensions.transportNumber != nil
        let feedback = ["ccm fir", "nack", "nack pli"] + (isNumbered ? ["transport-cc"] : [])
        #expect(values("rtcp-fb") == feedback.map { "\(expected.payloadType) \($0)" })
        #expect(values("setup") == ["active"])
        for flag in ["sendonly", "rtcp-mux", "rtcp-rsize", "end-of-candidates"] {
            #expect(media.attributes.contains(.init(flag)), "\(flag)")
        }
        #expect(values("candidate").count == 1)
        #expect(values("ssrc").count == payloadTypes.count * 2)
        #expect(try SessionDescription(parsing: "\(answer)") == answer)
    }
}
