import FoundationEssentials
import Posix
import TestSupport
import Testing

extension Browser {
    /// What is wrong with the controls and words of the page, in windows large and small, and on a phone: too small, covered, cut off, faint or
    /// without a name.
    func audit() throws -> [String] {
        let script = String(decoding: try contents(of: Counterparts.path("page_audit.js")), as: UTF8.self)
        return try [(1280, 800), (800, 500), (390, 844)].flatMap { width, height in
            try size(width, height)
            return try evaluate(script, as: [String].self).map { "\(width)x\(height): \($0)" }
        }
    }
}

/// The page can be read, reached and left again in each of its states.
extension Watch {
    @Suite struct PageDesignTests {
        @Test(arguments: Browser.Kind.allCases) func eachStateCanBeReadAndReached(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--accept", "ask", "--answer-timeout", "600", "--talkback", "ask")
            let browser = try web.open(kind)
            func audit(_ state: String) throws {
                try browser.wait(forState: state)
                #expect(try browser.audit() == [], "\(state)")
            }
            func knock(_ number: Int) throws {
                try browser.knock(as: "Ann")
                try web.sender.wait(until: "it is told") {
                    web.sender.errorOutput.contains("\"oriel accept \(number)\"")
                }
            }
            try audit("knocking")
            try knock(1)
            try audit("asking")
            #expect(try browser.isShown("cancel"))
            #expect(try web.broadcast.run("accept", "1").code == 0)
            try audit("live")
            for panel in ["statistics", "devices"] {
                try browser.click(panel)
                try audit("live")
                try browser.click(panel)
            }
            #expect(try web.broadcast.run("pause").code == 0)
            try audit("paused")
            let viewer = /viewer (\d+) \("Ann"\) looks in/
            // On a busy machine it may have come a second time.
            let number = try #require(web.sender.errorOutput.matches(of: viewer).last?.output.1)
            #expect(try web.broadcast.run("kick", String(number)).code == 0)
            try audit("kicked")
            // There is a way on after each refusal.
            try browser.click("again")
            try browser.wait(forState: "knocking")
            try knock(2)
            #expect(try web.broadcast.run("reject", "2").code == 0)
            try audit("rejected")
            try browser.click("again")
            try knock(3)
            #expect(try web.broadcast.run("accept", "3").code == 0)
            try browser.wait(forState: "paused")
        }

        /// Five figures for everybody, and the rest for those who ask.
        @Test func theStatisticsAreFiveAndMore() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            try browser.click("statistics")
            func shown() throws -> [String] {
                let terms = "[...document.querySelectorAll('#panel dt')].filter(term => term.checkVisibility())"
                return try browser.evaluate("\(terms).map(term => term.textContent)")
            }
            #expect(try shown() == ["Resolution", "Frame rate", "Bitrate", "Delay", "Loss"])
            let _: Bool? = try browser.evaluateOptional("(document.querySelector('#panel summary').click(), true)")
            try wait(until: "there are more") { try shown().count > 15 }
        }
    }
}
