import FoundationEssentials
import TestSupport
import Testing

extension ThinLink {
    /// Viewers with good links and bad ones.
    @Suite struct UnequalLinkTests {
        private struct Status: Decodable {
            struct Viewer: Decodable {
                let id: Int
                let rendition: Int?
                let plis: Int
                let state: String
            }

            let viewers: [Viewer]
        }

        private func viewers(of web: WebBroadcast) throws -> [Status.Viewer] {
            let output = try web.broadcast.run("status", "--json").output
            return try JSONDecoder().decode(Status.self, from: Data(output.utf8)).viewers
        }

        private func port(of browser: Browser) throws -> Int {
            let candidate = try browser.statistic("localCandidate")
            return try #require(candidate.split(separator: ":").last.flatMap { Int($0) })
        }

        /// With an encode for itself, a bad link holds up nobody; without one, it does not either, but gets what fits through.
        @Test(arguments: [2, 1]) func aBadLinkCostsOthersNothing(renditions: Int) throws {
            let web = try WebBroadcast("--codec", "vp8", "--renditions", "\(renditions)")
            let text = try draw("motion", on: web.server)
            let good = try web.open(.chromium)
            try good.wait(forState: "live")
            var number: Int?
            try wait(until: "it is told of") {
                number = try viewers(of: web).last { $0.state == "connected" }?.id
                return number != nil
            }
            func plis() throws -> Int { try #require(viewers(of: web).first { $0.id == number }).plis }
            try web.network.limitFromSender(kilobytesPerSecond: 50, exceptTo: port(of: good))
            let bad = try web.open(.chromium)
            try bad.wait(forState: "live")
            if renditions > 1 {
                try wait(until: "the bad link has a rendition of its own") {
                    try viewers(of: web).map(\.rendition) == [1, 2]
                }
            }
            let beforeBad = try bad.framesDecoded
            // A picture of the only rendition may take the bad link seconds.
            let due = renditions > 1 ? 20 : 3
            // A browser that has little time may ask for a picture now and then.
            try measure("the good link misses nothing") {
                let (before, asked) = (try good.framesDecoded, try plis())
                try wait(until: "both go on") {
                    try good.framesDecoded > before + 100 && bad.framesDecoded > beforeBad + due
                }
                return try plis() == asked
            }
            #expect(try viewers(of: web).allSatisfy { ($0.rendition ?? 0) <= renditions })
            text.stop()
        }
    }
}
