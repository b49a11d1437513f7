import Glibc
import TestSupport
import Testing

/// Real browsers open the page and see the screen.
extension WebTests {
    @Suite struct BrowserTests {
        @Test(arguments: Browser.Kind.allCases, ["vp8", "vp9"])
        func aBrowserSeesTheScreen(kind: Browser.Kind, codec: String) throws {
            let web = try WebBroadcast("--codec", codec)
            let counter = try draw("counter", on: web.server)
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            try wait(until: "frames are decoded") { try browser.framesDecoded >= 30 }
            let first = try #require(try browser.number())
            try wait(until: "the counter goes on") { try browser.number() ?? 0 > first }
            #expect(try browser.evaluate("(await oriel.stats()).codec", as: String.self).lowercased() == codec)
            #expect(try browser.evaluate("document.querySelector('video').videoWidth", as: Int.self) == 1280)
            #expect(try browser.evaluate("oriel.pc.getReceivers()[0].jitterBufferTarget", as: Int.self) == 0)
            try browser.screenshot(try artefact("\(kind.rawValue)-\(codec).png"))
            counter.stop()
        }

        /// Chromium hides its addresses behind names that nobody resolves here, and offers none at all without a route; both
        /// are found by their own checks. Numbers are taken as they come.
        @Test func aBrowserThatShowsItsAddressesIsFoundToo() throws {
            let web = try WebBroadcast()
            let browser = try web.open(.chromium, "--arg=--disable-features=WebRtcHideLocalIpsWithMdns")
            try browser.wait(forState: "live")
            #expect(try browser.framesDecoded > 0)
        }

        @Test func aBrowserLooksInOverIPv6() throws {
            let web = try WebBroadcast(hasIPv6: true)
            let noMDNS = "--arg=--disable-features=WebRtcHideLocalIpsWithMdns"
            let browser = try web.open(.chromium, noMDNS, page: "\(web.origin6)/#\(WebBroadcast.token)")
            try browser.wait(forState: "live")
            #expect(try browser.framesDecoded > 0)
        }

        /// A screen at rest shows at once to whoever comes later.
        @Test func aLateViewerOfAStillScreenSeesIt() throws {
            let web = try WebBroadcast()
            let still = try draw("counter", on: web.server, "--rate", "0.001")
            let early = try web.open(.chromium)
            try early.wait(forState: "live")
            usleep(1_500_000)
            let late = try web.open(.chromium)
            try late.wait(forState: "live")
            #expect(try late.number() == early.number())
            #expect(try late.number() != nil)
            still.stop()
        }

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
            let viewers = try web.broadcast.run("status", "--json").output
            #expect(viewers.contains("\"nacks\":"))
            counter.stop()
        }

        private func artefact(_ name: String) throws -> String {
            let folder = "\(Programs.directory)/../artefacts"
            mkdir(folder, 0o755)
            return "\(folder)/\(name)"
        }
    }
}
