import TestSupport
import Testing

extension ThinLink {
    /// What the network loses, or does not take at once.
    @Suite struct LostPacketTests {
        @Test func lostPacketsAreSentAgain() throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            try web.network.loseFromSender(perThousand: 50)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try wait(until: "packets are lost and asked for") {
                try browser.evaluateOptional("(await oriel.stats()).nackCount", as: Int.self) ?? 0 >= 10
            }
            let first = try #require(try browser.number())
            try wait(until: "the counter goes on") { try browser.number() ?? 0 >= first + 60 }
            let repaired = """
                [...(await oriel.pc.getStats()).values()]
                    .find(report => report.type === 'inbound-rtp' && report.kind === 'video').retransmittedPacketsReceived
                """
            try wait(until: "they came again") { try browser.evaluate(repaired, as: Int.self) >= 10 }
            counter.stop()
        }

        /// What the sender's socket does not take goes out a little later.
        @Test func aFullSocketLosesNothing() throws {
            let web = try WebBroadcast("--codec", "vp8", "--bitrate", "2500k")
            try web.network.throttleSender(to: "2mbit")
            let film = try draw("motion", on: web.server)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try wait(until: "frames are decoded") { try browser.framesDecoded >= 100 }
            let lost = """
                [...(await oriel.pc.getStats()).values()]
                    .find(report => report.type === 'inbound-rtp' && report.kind === 'video').packetsLost
                """
            // A busy browser may leave its own socket full.
            #expect(try browser.evaluate(lost, as: Int.self) <= web.network.overflowsAtViewer())
            film.stop()
        }
    }
}
