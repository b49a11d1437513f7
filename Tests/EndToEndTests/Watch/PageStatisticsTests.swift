import TestSupport
import Testing

/// What the viewer's page tells of the picture is true, at rest too.
extension Watch {
    @Suite struct PageStatisticsTests {
        private func freezes(_ browser: Browser) throws -> Int {
            try browser.evaluate("(await oriel.stats()).freezeCount", as: Int.self)
        }

        /// Frames of a picture at rest are seconds apart. To the browser, each of them ends a freeze, as long as they are three times as far
        /// apart as the last 30 on average: so there is motion before.
        @Test(arguments: Browser.Kind.allCases) func aPictureAtRestIsNotFrozen(kind: Browser.Kind) throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            let first = try browser.framesDecoded
            try wait(until: "the picture moves") { try browser.framesDecoded >= first + 60 }
            counter.stop()
            let counted = """
                [...(await oriel.pc.getStats()).values()]
                    .find(report => report.type === 'inbound-rtp' && report.kind === 'video').freezeCount
                """
            // Motion on a busy machine may have some.
            let moving = try browser.evaluate(counted, as: Int.self)
            func counts(_ freezes: Int) throws -> Bool {
                try browser.evaluate(counted, as: Int.self) >= moving + freezes
            }
            try wait(until: "the picture rests") { try counts(1) }
            var ages: [Double] = []
            // A picture that comes late on a busy machine is frozen, but there is none in each of these times.
            try measure("the browser counts freezes, and the page none") {
                let (before, start) = (try freezes(browser), try browser.evaluate(counted, as: Int.self))
                try wait(until: "the browser counts freezes") {
                    if let age = try browser.evaluateOptional("(await oriel.stats()).pictureAgeMs", as: Double.self) {
                        ages.append(age)
                    }
                    return try browser.evaluate(counted, as: Int.self) >= start + 3
                }
                return try freezes(browser) == before
            }
            #expect(ages.allSatisfy { $0 >= 0 }, "\(ages)")
            // Firefox tells pages no capture time.
            if kind == .chromium {
                let last = try browser.evaluateOptional("(await oriel.stats()).pictureAgeMs", as: Double.self)
                #expect(last != nil)
            }
        }

        /// A second of pictures is lost on the way.
        @Test(arguments: Browser.Kind.allCases) func aPictureThatFreezesIsCounted(kind: Browser.Kind) throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            func drawn() -> Int { counter.output.count { $0 == "\n" } }
            try wait(until: "a freeze is counted") {
                let frozen = try freezes(browser)
                let before = try browser.framesDecoded
                try wait(until: "the picture moves") { try browser.framesDecoded >= before + 30 }
                try web.network.loseMediaFromSender(true)
                let start = drawn()
                try wait(until: "pictures are lost") { drawn() >= start + 30 }
                try web.network.loseMediaFromSender(false)
                let after = try browser.framesDecoded
                try wait(until: "the picture moves again") { try browser.framesDecoded >= after + 30 }
                return try freezes(browser) > frozen
            }
            counter.stop()
        }
    }
}
