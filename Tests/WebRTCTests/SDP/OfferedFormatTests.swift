import Media
import Testing
import WebRTC

@testable import RTP

/// Codecs, retransmissions, feedback and header extensions of an offer.
@Suite struct OfferedFormatTests {
    private let offer = Offer()
    private static let mid = "urn:ietf:params:rtp-hdrext:sdes:mid"
    private static let playout = "http://www.webrtc.org/experiments/rtp-hdrext/playout-delay"
    private static let capture = "http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time"

    @Test(arguments: [("1", false), ("2", false), ("3", false), ("0", true)])
    func onlyProfile0OfVP9IsTaken(profile: String, isTaken: Bool) throws {
        let profiled = offer.replacing(
            "a=rtpmap:96",
            with: "a=rtpmap:96 vp9/90000",
            "a=fmtp:96 x=1; Profile-ID = \(profile)"
        )
        if isTaken {
            let negotiation = try profiled.negotiate()
            #expect(negotiation.codec == .vp9)
            #expect(negotiation.answer.media[0].attributes.contains(.init("fmtp", "96 profile-id=0")))
        } else {
            #expect(throws: UnacceptableOffer.noCommonCodec(offered: ["VP9", "RTX"])) { try profiled.negotiate() }
        }
    }

    /// Some peers take an answer only if all three parameters are theirs.
    @Test(
        arguments: [
            ("level-idx=5;profile=0;tier=0", "level-idx=5;profile=0;tier=0"), ("profile=0", "profile=0"),
            ("level-idx=31; Tier=1; x=y", "level-idx=31;tier=1"), ("x=y", nil), ("profile=1;level-idx=5", ""),
            ("profile=2", ""),
        ]
    )
    func profile0OfAV1IsTakenWithItsParameters(offered: String, answered: String?) throws {
        let coded = offer.replacing("a=rtpmap:96", with: "a=rtpmap:96 AV1/90000", "a=fmtp:96 \(offered)")
        guard answered != "" else {
            #expect(throws: UnacceptableOffer.noCommonCodec(offered: ["AV1", "RTX"])) { try coded.negotiate([.av1]) }
            return
        }
        let negotiation = try coded.negotiate([.av1])
        #expect(negotiation.codec == .av1)
        let lines = negotiation.answer.media[0].attributes.filter { $0.name == "fmtp" }.compactMap(\.value)
        #expect(lines.first { $0.hasPrefix("96 ") } == answered.map { "96 \($0)" })
    }

    @Test func theDependencyDescriptorGoesWithAV1() throws {
        let uri = "https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
        let extended = offer.adding("a=extmap:9 \(uri)")
        #expect(try extended.negotiate().video.extensions.dependencyDescriptor == nil)
        #expect(try !"\(extended.negotiate().answer)".contains(uri))
        let coded = try extended.replacing("a=rtpmap:96", with: "a=rtpmap:96 AV1/90000").negotiate([.av1])
        #expect(coded.video.extensions.dependencyDescriptor == 9)
        #expect(coded.answer.media[0].attributes.contains(.init("extmap", "9 \(uri)")))
    }

    /// The usual codec, and another to go on with.
    @Test func ofEachGroupOneFormatIsAnswered() throws {
        let several = offer.replacing("m=video", with: "m=video 9 UDP/TLS/RTP/SAVPF 45 96 97 98 46").adding(
            "a=rtpmap:45 AV1/90000",
            "a=rtcp-fb:45 nack pli",
            "a=rtcp-fb:45 nack",
            "a=rtpmap:46 rtx/90000",
            "a=fmtp:46 apt=45",
            "a=rtpmap:98 VP9/90000",
            "a=extmap:9 https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension"
        )
        let negotiation = try several.negotiate([[.vp8, .vp9], [.av1]])
        #expect(negotiation.formats.map(\.videoCodec) == [.vp8, .av1])
        #expect(negotiation.formats.map(\.parameters.payloadType) == [96, 45])
        #expect(negotiation.formats.map(\.parameters.retransmissionPayloadType) == [97, 46])
        #expect(negotiation.formats.map(\.parameters.extensions.dependencyDescriptor) == [nil, 9])
        let video = try #require(negotiation.agreement.video)
        #expect(video.codec(preferring: .av1) == .av1)
        #expect(video.codec(preferring: .vp9) == .vp8)
        let media = negotiation.answer.media[0]
        #expect(media.formats == ["96", "97", "45", "46"])
        let maps = media.attributes.filter { ["rtpmap", "fmtp", "rtcp-fb"].contains($0.name) }.compactMap(\.value)
        #expect(
            maps == [
                "96 VP8/90000", "96 nack", "97 rtx/90000", "97 apt=96", "45 AV1/90000", "45 nack", "45 nack pli",
                "46 rtx/90000", "46 apt=45",
            ]
        )
        #expect(try several.negotiate([[.vp8, .vp9]]).answer.media[0].formats == ["96", "97"])
        #expect(try offer.negotiate([[.vp8, .vp9], [.av1]]).formats.map(\.videoCodec) == [.vp8])
        #expect(try several.negotiate([[.vp9], [.av1]]).answer.media[0].formats == ["98", "45", "46"])
    }

    @Test func theSendersPreferenceDecides() throws {
        var both = offer.replacing("m=video", with: "m=video 9 UDP/TLS/RTP/SAVPF 96 97 98")
        both = both.adding("a=rtpmap:98 VP9/90000")
        #expect(try both.negotiate([.vp8, .vp9]).video.payloadType == 96)
        #expect(try both.negotiate([.vp9, .vp8]).video.payloadType == 98)
        #expect(try offer.negotiate([.vp9, .vp8]).codec == .vp8)
        #expect(throws: UnacceptableOffer.noCommonCodec(offered: ["VP8", "RTX"])) { try offer.negotiate([.vp9]) }
    }

    @Test(arguments: ["128", "300", "x", "+96", ""])
    func payloadTypesOutOfRangeAreSkipped(format: String) {
        let wrong = offer.replacing("m=video", with: "m=video 9 UDP/TLS/RTP/SAVPF \(format) 97")
            .replacing("a=rtpmap:96", with: "a=rtpmap:\(format) VP8/90000")
        #expect(throws: UnacceptableOffer.noCommonCodec(offered: ["RTX"])) { try wrong.negotiate() }
    }

    @Test func retransmissionsNeedTheirStreamAndFeedback() throws {
        #expect(try offer.negotiate().video.retransmissionPayloadType == 97)
        #expect(try offer.without("a=rtcp-fb").negotiate().video.retransmissionPayloadType == nil)
        #expect(try offer.without("a=fmtp:97").negotiate().video.retransmissionPayloadType == nil)
        let forOther = offer.replacing("a=fmtp:97", with: "a=fmtp:97 apt=98")
        let answer = try forOther.negotiate().answer
        #expect(answer.media[0].formats == ["96"])
        #expect(!answer.description.contains("FID"))
        let timed = offer.replacing("a=fmtp:97", with: "a=fmtp:97 apt=96;rtx-time=3000")
        #expect(try timed.negotiate().video.retransmissionPayloadType == 97)
    }

    @Test func feedbackForAllFormatsCounts() throws {
        let negotiation = try offer.without("a=rtcp-fb").adding(
            "a=rtcp-fb:* nack pli",
            "a=rtcp-fb:* ccm fir",
            "a=rtcp-fb:* goog-remb",
            "a=rtcp-fb:97 nack"
        ).negotiate()
        let lines = negotiation.answer.media[0].attributes.filter { $0.name == "rtcp-fb" }.compactMap(\.value)
        #expect(lines == ["96 ccm fir", "96 goog-remb", "96 nack pli"])
    }

    @Test func reducedSizeReportsAreMirrored() throws {
        #expect(try !offer.negotiate().answer.media[0].attributes.contains(.init("rtcp-rsize")))
        #expect(try offer.adding("a=rtcp-rsize").negotiate().answer.media[0].attributes.contains(.init("rtcp-rsize")))
    }

    @Test(
        arguments: [
            (
                ["1 \(mid)", "14 \(playout)", "7 \(capture)"],
                HeaderExtensions(mid: 1, playoutDelay: 14, captureTime: 7)
            ),
            (["0 \(mid)", "15 \(playout)", "16 \(capture)"], HeaderExtensions()),
            (["255 \(mid)", "256 \(playout)", "-1 \(capture)", "+3 \(mid)"], HeaderExtensions()),
            (["3/recvonly \(mid)", "4/sendrecv \(playout)"], HeaderExtensions(mid: 3, playoutDelay: 4)),
            (["3/sendonly \(mid)", "4/inactive \(playout)", "/ \(capture)"], HeaderExtensions()),
            (["2 \(mid)", "3 \(mid)"], HeaderExtensions(mid: 2)), (["2 urn:unknown", "3"], HeaderExtensions()),
            (["2 \(capture) with attributes"], HeaderExtensions(captureTime: 2)),
        ] as [([String], HeaderExtensions)]
    )
    func extensionsKeepTheirIdentifiers(lines: [String], expected: HeaderExtensions) throws {
        var extended = offer
        extended.lines += lines.map { "a=extmap:\($0)" }
        #expect(try extended.negotiate().video.extensions == expected)
        var session = offer
        session.lines.insert(contentsOf: lines.map { "a=extmap:\($0)" }, at: 4)
        #expect(try session.negotiate().video.extensions == expected)
    }

    @Test func directionsOfExtensionsAreTurnedAround() throws {
        let answer = try offer.adding("a=extmap:3/recvonly \(Self.mid)", "a=extmap:4/sendrecv \(Self.capture)")
            .negotiate()
            .answer
        let lines = answer.media[0].attributes.filter { $0.name == "extmap" }.compactMap(\.value)
        #expect(lines == ["3/sendonly \(Self.mid)", "4/sendonly \(Self.capture)"])
    }

    @Test func mixedExtensionFormsAreAllowedWhereOffered() throws {
        let mixed = offer.replacing("t=0 0", with: "t=0 0", "a=extmap-allow-mixed")
        #expect(try mixed.negotiate().answer.attributes.contains(.init("extmap-allow-mixed")))
        #expect(try !offer.negotiate().answer.attributes.contains(.init("extmap-allow-mixed")))
    }
}
