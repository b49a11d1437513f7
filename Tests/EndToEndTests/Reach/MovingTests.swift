import Glibc
import Posix
import TestSupport
import Testing
import Time

extension Reach {
    /// A sender whose machine comes to another network during a call.
    @Suite struct MovingTests {
        private static let address = "10.99.0.7"

        /// The viewer's address of the sender is gone with the network: nothing but the path itself can tell it of the new one.
        @Test(arguments: [Browser.Kind.chromium, .firefox], [Duration.zero, .seconds(1), .seconds(10)])
        func aViewerStays(kind: Browser.Kind, pause: Duration) throws {
            let (web, counter, browser) = try watched(by: kind)
            try web.network.moveSender(to: Self.address, after: pause)
            try waitForPictures(of: web, in: browser)
            try browser.wait(forState: "live")
            #expect(try browser.evaluate("oriel.pc.isFirst ?? false", as: Bool.self))
            counter.stop()
        }

        /// A browser that still asks the old address for its consent gives the call up after 30 s. So each move must be told of.
        @Test(arguments: Browser.Kind.allCases) func aViewerStaysForGood(kind: Browser.Kind) throws {
            let (web, counter, browser) = try watched(by: kind)
            for address in [Self.address, "10.99.0.8"] {
                try web.network.moveSender(to: address)
                try waitForPictures(of: web, in: browser)
            }
            let start: Instant = MonotonicClock.now()
            while MonotonicClock.now() < start + .seconds(35) {
                #expect(try browser.evaluate("oriel.pc.connectionState", as: String.self) != "failed")
                usleep(500_000)
            }
            try waitForPictures(of: web, in: browser)
            try browser.wait(forState: "live")
            #expect(try browser.evaluate("oriel.pc.isFirst ?? false", as: Bool.self))
            counter.stop()
        }

        private func watched(
            by kind: Browser.Kind
        ) throws -> (web: WebBroadcast, counter: Subprocess, browser: Browser) {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            let _: Bool? = try browser.evaluateOptional("(oriel.pc.isFirst = true)")
            try Self.putRouterBetween(web.network)
            return (web, counter, browser)
        }

        private func waitForPictures(of web: WebBroadcast, in browser: Browser) throws {
            let before = try browser.framesDecoded
            try wait(until: "pictures flow: \(web.sender.errorOutput)\(Self.ends(of: web, in: browser))") {
                try browser.framesDecoded > before + 30
            }
        }

        /// Viewers are not on the sender's link, as a rule: what they send to an address that is gone is lost on its way, and no neighbour
        /// discovery tells them so.
        private static func putRouterBetween(_ network: Network) throws {
            let link = try Subprocess.run(network.atSender(["cat", "/sys/class/net/wire/address"]))
            let words = [
                "ip", "neigh", "replace", Network.senderAddress, "lladdr", String(link.prefix(17)), "dev", "wire",
            ]
            try Subprocess.run(network.atViewer(words + ["nud", "permanent"]))
        }

        /// Each end's view of the path.
        private static func ends(of web: WebBroadcast, in browser: Browser) -> String {
            let page = "`${oriel.pc?.isFirst} ${oriel.pc?.connectionState} ${document.documentElement.dataset.state}`"
            return [try? web.broadcast.run("status").output, try? browser.evaluate(page, as: String.self)]
                .map { $0 ?? "no answer" }.joined()
        }

        /// Janus keeps the session. Who comes later gets a picture, too: what it asks for goes the new way.
        @Test(arguments: [Duration.zero, .seconds(1)]) func aRoomOfJanusStays(pause: Duration) throws {
            let scene = try JanusScene()
            let counter = try draw("counter", on: scene.display, "--fps", "30")
            let sender = try scene.attach("1234", ["--codec", "vp8"])
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            let _: Bool? = try browser.evaluateOptional("(pc.isFirst = true)")
            try scene.network.moveSender(to: Self.address, after: pause)
            let before = try scene.seen(browser).frames
            try wait(until: "pictures flow: \(sender.errorOutput)") {
                try scene.seen(browser).frames > before + 30
            }
            let other = try scene.open("room=1234")
            try scene.waitForPicture(other, sender)
            #expect(try browser.evaluate("pc?.isFirst ?? false", as: Bool.self))
            #expect(scene.publications(by: sender) == 1, "\(sender.errorOutput)")
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the room knows") { try scene.seen(browser).frames == 0 }
        }

        /// The address is gone with the interface, and back with it.
        @Test func aRoomOfJanusIsThereAgainWithTheInterface() throws {
            let scene = try JanusScene(general: "reclaim_session_timeout = 60")
            let counter = try draw("counter", on: scene.display, "--fps", "30")
            let sender = try scene.attach("1234", ["--codec", "vp8"])
            let browser = try scene.open("room=1234")
            try scene.waitForPicture(browser, sender)
            try scene.network.setSenderLink(isUp: false)
            try sender.wait(until: "the sender notices") { sender.errorOutput.contains("trying again") }
            let before = try scene.seen(browser).frames
            try scene.network.setSenderLink(isUp: true)
            try sender.wait(until: "it is there again") {
                sender.errorOutput.contains("the picture went on")
            }
            try wait(until: "pictures flow: \(sender.errorOutput)") {
                try scene.seen(browser).frames > before + 30
            }
            let other = try scene.open("room=1234")
            try scene.waitForPicture(other, sender)
            #expect(scene.publications(by: sender) == 1, "\(sender.errorOutput)")
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }
    }
}
