import Media
import Posix
import RTP
import Testing

@testable import Calls

@Suite struct PlainRTPDescriptionTests {
    private func lines(
        _ configuration: PlainRTPSession.Configuration = .init(codec: .vp8),
        to receiver: String,
        from sender: String = "192.0.2.1",
        frameRate: Int = 25
    ) throws -> [String] {
        let text = configuration.description(
            7,
            for: try SocketAddress.resolve(host: receiver, port: 5004),
            from: try SocketAddress.resolve(host: sender, port: 6000),
            frameRate: frameRate
        )
        #expect(text.hasSuffix("\r\n"))
        return text.split(separator: "\r\n").map(String.init)
    }

    @Test func printsVP9OverIPv4() throws {
        let configuration = PlainRTPSession.Configuration(codec: .vp9, targetBitrate: 2_500_001)
        let lines = try lines(configuration, to: "192.0.2.7", frameRate: 30)
        #expect(
            lines == [
                "v=0",
                "o=- 7 1 IN IP4 192.0.2.1",
                "s=Oriel",
                "c=IN IP4 192.0.2.7",
                "t=0 0",
                "m=video 5004 RTP/AVPF 96",
                "b=AS:2501",
                "a=rtpmap:96 VP9/90000",
                "a=fmtp:96 profile-id=0",
                "a=rtcp-fb:96 nack",
                "a=rtcp-fb:96 nack pli",
                "a=rtcp-fb:96 ccm fir",
                "a=extmap:1 http://www.webrtc.org/experiments/rtp-hdrext/color-space",
                "a=framerate:30",
                "a=recvonly",
            ]
        )
    }

    @Test func printsVP8OverIPv6() throws {
        let lines = try lines(to: "ff15::101", from: "::1")
        #expect(lines.contains("c=IN IP6 ff15::101"))
        #expect(lines[1].hasSuffix(" IN IP6 ::1"))
        #expect(!lines.contains { $0.contains("fmtp") })
    }

    @Test(arguments: [
        ("224.2.17.12", "c=IN IP4 224.2.17.12/1"), ("239.255.0.1", "c=IN IP4 239.255.0.1/1"),
        ("240.0.0.1", "c=IN IP4 240.0.0.1"), ("22.4.0.1", "c=IN IP4 22.4.0.1"),
    ])
    func onlyGroupsCarryTheirScope(address: String, line: String) throws {
        #expect(try lines(to: address).contains(line))
    }
}
