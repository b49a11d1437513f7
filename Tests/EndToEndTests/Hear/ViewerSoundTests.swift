import Glibc
import TestSupport
import Testing

/// Sound beside the picture, as others hear it.
extension Hear {
    @Suite struct ViewerSoundTests {
        private static let tones = [440.0, 1000]

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
            #expect(heard.hears(tones: Self.tones), "\(heard.purities(of: Self.tones))")
            #expect(singer.status() == nil, "\(singer.output)")
        }

        /// A sound process that begins later, ends, and begins again is heard as soon as it is there.
        @Test(arguments: Browser.Kind.allCases) func aBrowserHearsBothChannels(kind: Browser.Kind) throws {
            let web = try WebBroadcast()
            // Firefox has no clock for sound without a device.
            let speakers = try PulseServer()
            let browser = try web.open(kind, sound: speakers)
            try browser.wait(forState: "live")
            let track = "oriel.pc.getReceivers().find(({track}) => track.kind === 'audio').track"
            for tones in [[440.0, 1000], [1500.0, 700]] {
                let singer = try web.broadcast.sing("\(tones[0])", "\(tones[1])")
                try browser.wait(forTones: tones, in: track, web.sender.errorOutput)
                singer.stop()
            }
            let singer = try web.broadcast.sing("600")
            try browser.wait(forTones: [600, 600], in: track, "one channel is in both: \(web.sender.errorOutput)")
            singer.stop()
        }

        /// What was lost is sent again before it is missed.
        @Test func lostSoundIsHeard() throws {
            let web = try WebBroadcast()
            let singer = try web.broadcast.sing("440", "1000")
            try web.network.loseFromSender(perThousand: 50)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            struct Inbound: Decodable {
                let packetsReceived: Int
                let nackCount: Int?
                let concealedSamples: Int
                let totalSamplesReceived: Int
            }
            let inbound = """
                [...(await oriel.pc.getStats()).values()]
                    .find(report => report.type === 'inbound-rtp' && report.kind === 'audio')
                """
            func seen(whenever holds: (Inbound) -> Bool) throws -> Inbound {
                var seen: Inbound?
                try wait(until: "packets are lost and asked for") {
                    seen = try browser.evaluateOptional(inbound, as: Inbound.self)
                    return seen.map(holds) ?? false
                }
                return seen!
            }
            // Half a second is left out at the start.
            var start = try seen { $0.packetsReceived > 50 }
            // Without that, it would be as much as is lost. A busy machine conceals some by itself, but not in each 15 s.
            var parts: [Double] = []
            try measure("little is missed: \(parts)") {
                let end = try seen { $0.packetsReceived > start.packetsReceived + 750 && $0.nackCount ?? 0 > 10 }
                defer { start = end }
                let concealed = end.concealedSamples - start.concealedSamples
                parts.append(Double(concealed) / Double(end.totalSamplesReceived - start.totalSamplesReceived))
                return parts.last! < 0.02
            }
            singer.stop()
        }

        /// Nothing of it goes out while the broadcast is paused, and all afterwards.
        @Test func aPausedBroadcastIsNotHeard() throws {
            let web = try WebBroadcast()
            let singer = try web.broadcast.sing("440", "1000")
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            let packets = "(await oriel.stats()).soundPackets"
            try wait(until: "it is heard") { try browser.evaluateOptional(packets, as: Int.self) ?? 0 > 100 }
            try #expect(web.broadcast.run("pause").code == 0)
            try browser.wait(forState: "paused")
            var before = try browser.evaluate(packets, as: Int.self)
            try wait(until: "what was on its way has come") {
                usleep(500_000)
                let last = before
                before = try browser.evaluate(packets, as: Int.self)
                return before == last
            }
            usleep(2_000_000)
            let after = try browser.evaluate(packets, as: Int.self)
            #expect(after - before <= 5, "what was on its way, as the page learnt of the pause: \(after - before)")
            try #expect(web.broadcast.run("resume").code == 0)
            try wait(until: "it is heard again") { try browser.evaluate(packets, as: Int.self) > after + 100 }
            singer.stop()
        }
    }
}
