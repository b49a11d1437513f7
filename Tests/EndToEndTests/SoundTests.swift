import Glibc
import TestSupport
import Testing

/// Sound that other stacks receive beside the picture.
extension ViewerTests {
    @Suite struct SoundTests {
        @Test(arguments: [Counterparts.Stack.aiortc, .gstreamer, .wrtc])
        func otherStacksHearBothChannels(stack: Counterparts.Stack) throws {
            let web = try WebBroadcast()
            let singer = try web.broadcast.sing("440", "1000")
            let folder = try TemporaryDirectory()
            let file = folder.file("heard")
            let report = try web.view(stack, "--sound", file, "--heard", "4", "--frames", "1", "--seconds", "300")
            #expect(report.error == nil)
            #expect(report.frames >= 1)
            let heard = HeardSound(file)
            let end = heard.clip.duration
            #expect(end >= 4)
            for (channel, frequency) in [(0, 440.0), (1, 1000)] {
                let purity = heard.purity(of: frequency, channel: channel, in: end - 2..<end)
                #expect(purity > 30, "channel \(channel): \(purity) dB")
            }
            #expect(singer.status() == nil, "\(singer.output)")
        }
    }
}
