import Glibc
import TestSupport
import Testing
import Time

extension PathTests {
    /// A sender whose machine comes to another network during a call.
    @Suite struct MovingTests {
        private static let address = "10.99.0.7"

        /// The viewer's address of the sender is gone with the network: nothing but the path itself can tell it of the new one.
        @Test(arguments: [Browser.Kind.chromium, .firefox], [Duration.zero, .seconds(1)])
        func aViewerStays(kind: Browser.Kind, pause: Duration) throws {
            let web = try WebBroadcast()
            let counter = try draw("counter", on: web.server, "--fps", "30")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            let _: Bool? = try browser.evaluateOptional("(oriel.pc.isFirst = true)")
            try web.network.moveSender(to: Self.address, after: pause)
            let before = try browser.framesDecoded
            try wait(until: "pictures flow: \(web.sender.errorOutput)", timeout: .seconds(20)) {
                try browser.framesDecoded > before + 30
            }
            #expect(try browser.evaluate("oriel.pc.isFirst ?? false", as: Bool.self))
            counter.stop()
        }
    }
}
