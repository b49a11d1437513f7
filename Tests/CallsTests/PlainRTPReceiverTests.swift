import Media
import Testing

@testable import Calls

/// What receivers need is printed; `ReceiverTests` and `JanusTests` use it as it stands.
@Suite struct PlainRTPReceiverTests {
    private func printed(
        _ receiver: PlainRTPReceiver,
        _ codec: VideoCodec = .vp9,
        to call: String = "rtp://192.0.2.7:5004"
    ) throws -> String {
        let rendition = Rendition(
            id: Rendition.ID(0),
            codec: codec,
            width: 1280,
            height: 720,
            framesPerSecond: 30,
            bitrate: 2_500_000
        )
        return try receiver.instructions(for: RTPDestination(parsing: call), rendition)
    }

    /// The lines of the description, without what stands before them.
    private func description(in text: String) -> [Substring] {
        text.split(separator: "\n").map { $0.drop { $0 == " " } }.drop { $0 != "v=0" }.prefix {
            $0.dropFirst().hasPrefix("=")
        }
    }

    @Test func aMountpointOfJanus() throws {
        let text = try printed(.janus)
        #expect(text.contains("port = 5004 rtcpport = 5005\n"))
        #expect(text.contains("pt = 96 codec = \"vp9\" fmtp = \"profile-id=0\"\n"))
        #expect(try printed(.janus, .vp8).contains("codec = \"vp8\"\n"))
        #expect(try printed(.janus, to: "rtp://239.255.0.1:5004").contains("rtcpport = 5005 mcast = \"239.255.0.1\"\n"))
    }

    /// As docs/2-publish/12-rtp.md of MediaMTX has it: a block of YAML below `rtpSDP`.
    @Test func aPathOfMediaMTX() throws {
        let text = try printed(.mediamtx)
        #expect(text.contains("\n    source: udp+rtp://192.0.2.7:5004\n    rtpSDP: |\n      v=0\n"))
        #expect(try description(in: text) == description(in: printed(.ffmpeg)))
        #expect(try printed(.mediamtx, to: "rtp://[2001:db8::7]:5004").contains("udp+rtp://[2001:db8::7]:5004"))
    }

    @Test(arguments: [PlainRTPReceiver.ffmpeg, .gstreamer, .vlc]) func aScript(receiver: PlainRTPReceiver) throws {
        let lines = try description(in: printed(receiver))
        #expect(lines.contains("m=video 5004 RTP/AVPF 96") && lines.contains("c=IN IP4 192.0.2.7"))
        #expect(lines.contains("a=rtpmap:96 VP9/90000") && lines.last == "a=recvonly")
        #expect(try printed(receiver).hasPrefix("cat > screen.sdp <<'END'\nv=0\n"))
    }
}
