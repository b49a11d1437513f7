import Glibc
import TestSupport
import Testing

extension Watch {
    /// Dark pictures are brightened for all.
    @Suite struct LegibilityTests {
        /// A dark screen with a dark window, and later something bright.
        private func paint(_ colour: String, on server: XServer) throws {
            try Subprocess.run(["xsetroot", "-solid", colour], environment: server.environment)
        }

        private func open(_ ink: String, on server: XServer, _ geometry: String) throws -> Subprocess {
            try Subprocess(
                ["xlogo", "-fg", ink, "-bg", "#1c1c1c", "-geometry", geometry],
                environment: server.environment
            )
        }

        /// The red, green and blue at a place.
        private func colour(_ browser: Browser, _ x: Int, _ y: Int) throws -> [Int] {
            guard let picture = try browser.picture() else { return [] }
            return (0..<3).map { Int(picture.bytes[3 * (y * picture.width + x) + $0]) }
        }

        private func isGrey(_ colour: [Int], _ range: ClosedRange<Int>) -> Bool {
            colour.count == 3 && colour.allSatisfy { range ~= $0 }
        }

        @Test(arguments: Browser.Kind.allCases) func aDarkScreenIsBrightened(kind: Browser.Kind) throws {
            let web = try WebBroadcast("--legibility", "auto")
            try paint("#1c1c1c", on: web.server)
            let logo = try open("#3a3a3a", on: web.server, "600x600+40+40")
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            let status = [
                "curl", "-s", "-H", "Authorization: Bearer \(WebBroadcast.token)", "\(web.origin)/api/status",
            ]
            #expect(try Subprocess.run(web.network.atViewer(status)).contains(#""legibility":"auto""#))
            // The background of 28 of 255, and the logo of 58.
            try wait(until: "it is bright") {
                try isGrey(colour(browser, 1000, 300), 120...180) && brightest(browser) > 200
            }
            #expect(try web.broadcast.run("legibility", "off").code == 0)
            try wait(until: "it is as it was") {
                try isGrey(colour(browser, 1000, 300), 26...30) && brightest(browser) < 70
            }
            #expect(try web.broadcast.run("legibility", "auto").code == 0)
            try wait(until: "it is bright again") { try brightest(browser) > 200 }
            // Nothing is changed beside something bright.
            let lamp = try open("#ffffff", on: web.server, "300x300+900+400")
            try wait(until: "all is as it was") { try isGrey(colour(browser, 800, 60), 26...30) }
            lamp.stop()
            try wait(until: "it is bright once more") { try !isGrey(colour(browser, 800, 60), 0...40) }
            for process in [logo, lamp] { process.stop() }
        }

        private func brightest(_ browser: Browser) throws -> Int {
            guard let picture = try browser.picture() else { return 0 }
            return stride(from: 1, to: picture.bytes.count, by: 3 * 97).map { Int(picture.bytes[$0]) }.max() ?? 0
        }

        /// Colours of a bright screen are as they are without it.
        @Test func aBrightScreenStaysAsItIs() throws {
            let web = try WebBroadcast()
            let text = try draw("still", on: web.server)
            let browser = try web.open(.chromium)
            try browser.wait(forState: "live")
            func settled() throws -> [UInt8] {
                var last: [UInt8] = []
                try wait(until: "the picture rests") {
                    let next = try browser.picture()?.bytes ?? []
                    defer { last = next }
                    usleep(500_000)
                    return !next.isEmpty && next == last
                }
                return last
            }
            let before = try settled()
            #expect(try web.broadcast.run("legibility", "auto").code == 0)
            usleep(2_500_000)
            let after = try settled()
            // A refinement may move a sample by one.
            #expect(zip(before, after).allSatisfy { abs(Int($0) - Int($1)) <= 2 })
            text.stop()
        }
    }
}
