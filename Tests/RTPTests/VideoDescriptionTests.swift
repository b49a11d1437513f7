import Media
import RTP
import Testing

@Suite struct VideoDescriptionTests {
    @Test func printsVP9OverIPv4() {
        let text = VideoDescription(
            codec: .vp9,
            payloadType: 98,
            destination: .ipv4("192.0.2.7"),
            port: 5004,
            origin: .ipv4("192.0.2.1"),
            sessionID: 42,
            bitrate: 2_500_000,
            frameRate: 30
        ).description
        #expect(
            text
                == [
                    "v=0",
                    "o=- 42 1 IN IP4 192.0.2.1",
                    "s=Oriel",
                    "c=IN IP4 192.0.2.7",
                    "t=0 0",
                    "m=video 5004 RTP/AVPF 98",
                    "b=AS:2500",
                    "a=rtpmap:98 VP9/90000",
                    "a=fmtp:98 profile-id=0",
                    "a=rtcp-fb:98 nack pli",
                    "a=rtcp-fb:98 ccm fir",
                    "a=framerate:30",
                    "a=recvonly",
                    "",
                ].joined(separator: "\r\n")
        )
    }

    @Test func printsVP8OverIPv6() {
        let text = VideoDescription(
            codec: .vp8,
            payloadType: 96,
            destination: .ipv6("ff15::101"),
            port: 5004,
            origin: .ipv6("::1"),
            sessionID: 1,
            name: "two\r\nlines"
        ).description
        #expect(text.contains("c=IN IP6 ff15::101\r\n"))
        #expect(text.contains("s=twolines\r\n"))
        #expect(!text.contains("fmtp"))
        #expect(!text.contains("b="))
        #expect(!text.contains("framerate"))
    }

    @Test(arguments: [
        ("224.2.17.12", "c=IN IP4 224.2.17.12/4\r\n"), ("239.255.0.1", "c=IN IP4 239.255.0.1/4\r\n"),
        ("240.0.0.1", "c=IN IP4 240.0.0.1\r\n"), ("22.4.0.1", "c=IN IP4 22.4.0.1\r\n"),
    ])
    func onlyGroupsCarryTheirScope(address: String, line: String) {
        let text = VideoDescription(
            codec: .vp8,
            payloadType: 96,
            destination: .ipv4(address),
            port: 5004,
            multicastTTL: 4,
            origin: .ipv4("192.0.2.1"),
            sessionID: 1
        ).description
        #expect(text.contains(line))
    }
}
