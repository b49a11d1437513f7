import Posix
import TestSupport
import Testing

extension Watch {
    /// A viewer's own view of the picture.
    @Suite struct ZoomTests {
        /// Where a point of the page lies in the picture that is larger than the window, as parts of it, and how large that is.
        private struct Place: Decodable {
            let x: Double, y: Double, width: Double
        }

        private let point = (x: 300, y: 200)

        private func place(_ browser: Browser) throws -> Place {
            try browser.evaluate(
                """
                (() => {
                    const { left, top, width, height } = document.getElementById('video').getBoundingClientRect();
                    return { x: (\(point.x) - left) / width, y: (\(point.y) - top) / height, width };
                })()
                """
            )
        }

        private func isZoomed(_ browser: Browser) throws -> Bool {
            try browser.evaluate("document.documentElement.hasAttribute('data-zoomed')", as: Bool.self)
        }

        private func run(_ browser: Browser, _ script: String) throws {
            let _: Bool? = try browser.evaluateOptional("(() => { \(script); return true; })()")
        }

        private func wheel(_ browser: Browser, _ delta: Double, _ more: String = "") throws {
            let place = "clientX: \(point.x), clientY: \(point.y), bubbles: true, cancelable: true"
            try run(
                browser,
                "document.getElementById('stage').dispatchEvent(new WheelEvent('wheel', { deltaY: \(delta), \(place), \(more) }))"
            )
        }

        private func key(_ browser: Browser, _ key: String) throws {
            try run(
                browser,
                "document.body.dispatchEvent(new KeyboardEvent('keydown', { key: '\(key)', bubbles: true }))"
            )
        }

        private func open(_ kind: Browser.Kind, _ web: WebBroadcast) throws -> Browser {
            let browser = try web.open(kind)
            try browser.wait(forState: "live")
            try browser.size(1000, 700)
            try wait(until: "the size of the picture is known") {
                try browser.evaluate("document.getElementById('video').videoWidth", as: Int.self) == 1280
            }
            return browser
        }

        @Test(arguments: Browser.Kind.allCases) func theWheelMakesThePictureLargerWhereItPoints(kind: Browser.Kind)
            throws
        {
            let web = try WebBroadcast()
            let browser = try open(kind, web)
            try wheel(browser, -120)
            #expect(try isZoomed(browser))
            let before = try place(browser)
            for _ in 0..<3 { try wheel(browser, -120) }
            let after = try place(browser)
            #expect(abs(after.width / before.width - 1.25 * 1.25 * 1.25) < 0.01, "\(before) \(after)")
            #expect(abs(after.x - before.x) < 0.005 && abs(after.y - before.y) < 0.005, "\(before) \(after)")
            // No larger than eight times.
            for _ in 0..<30 { try wheel(browser, -120) }
            #expect(try place(browser).width <= 8.01 * 1000)
            for _ in 0..<40 { try wheel(browser, 120) }
            #expect(try !isZoomed(browser) && place(browser).width <= 1000)
            // A pinch on a touch pad is finer.
            try wheel(browser, -10, "ctrlKey: true")
            let pinched = try place(browser).width
            #expect(try isZoomed(browser) && pinched < 1.2 * 1000, "\(pinched)")
        }

        @Test(arguments: Browser.Kind.allCases) func keysDoTheSame(kind: Browser.Kind) throws {
            let web = try WebBroadcast()
            let browser = try open(kind, web)
            for _ in 0..<3 { try key(browser, "+") }
            let before = try place(browser)
            #expect(try isZoomed(browser) && before.width > 1800)
            try key(browser, "ArrowRight")
            try key(browser, "ArrowDown")
            try wait(until: "it has moved") {
                let after = try place(browser)
                return after.x > before.x + 0.02 && after.y > before.y + 0.02
            }
            try key(browser, "-")
            #expect(try place(browser).width < before.width)
            try key(browser, "0")
            #expect(try !isZoomed(browser))
            try key(browser, "1")
            let ratio = try browser.evaluate("devicePixelRatio", as: Double.self)
            #expect(try abs(place(browser).width - 1280 / ratio) < 1)
            try key(browser, "1")
            #expect(try !isZoomed(browser))
        }

        private func touch(
            _ browser: Browser,
            _ kind: String,
            _ fingers: [(Int, Int)],
            lifted: [(Int, Int)] = []
        ) throws {
            func list(_ fingers: [(Int, Int)]) -> String {
                let touches = fingers.enumerated().map { number, finger in
                    "new Touch({ identifier: \(number), target: stage, clientX: \(finger.0), clientY: \(finger.1) })"
                }
                return "[\(touches.joined(separator: ", "))]"
            }
            let parts =
                "touches: \(list(fingers)), changedTouches: \(list(lifted + fingers)), bubbles: true, cancelable: true"
            try run(
                browser,
                "const stage = document.getElementById('stage'); stage.dispatchEvent(new TouchEvent('\(kind)', { \(parts) }))"
            )
        }

        private func pinch(_ browser: Browser) throws {
            try touch(browser, "touchstart", [(250, 200), (350, 200)])
            try touch(browser, "touchmove", [(200, 200), (400, 200)])
            try touch(browser, "touchend", [], lifted: [(200, 200)])
        }

        /// Firefox has no touch events where there is no touch screen.
        @Test func fingersDoTheSame() throws {
            let web = try WebBroadcast()
            let browser = try open(.chromium, web)
            try pinch(browser)
            #expect(try isZoomed(browser))
            #expect(try abs(place(browser).width - 2000) < 30)
            func tap() throws {
                try touch(browser, "touchstart", [(300, 200)])
                try touch(browser, "touchend", [], lifted: [(300, 200)])
            }
            // Both within 300 ms, unless the machine is busy.
            try wait(until: "two taps show all of it") {
                try tap()
                try tap()
                return try !isZoomed(browser)
            }
            try wait(until: "two taps make it larger") {
                try tap()
                try tap()
                return try isZoomed(browser)
            }
            #expect(try abs(place(browser).width - 2500) < 30)
        }

        /// A caret and a clock are no pointer, and a viewer who moves the picture wants it there.
        @Test func aPictureThatFingersMadeLargerFollowsThePointer() throws {
            let web = try WebBroadcast.withPointer()
            let display = ["env", "DISPLAY=\(web.server.display)"]
            let clock = try Subprocess(
                display + ["xclock", "-digital", "-strftime", "%H:%M:%S", "-update", "1", "-geometry", "+1000+600"]
            )
            let terminal = try Subprocess(
                display + ["xterm", "-bc", "-geometry", "20x5+60+40", "-e", "sleep", "1000"]
            )
            let browser = try open(.chromium, web)
            try pinch(browser)
            let before = try place(browser)
            /// The places that are seen in the next four seconds.
            func places() throws -> [Place] {
                try (0..<20).map { _ in
                    MonotonicClock.sleep(for: .milliseconds(200))
                    return try place(browser)
                }
            }
            #expect(try places().allSatisfy { $0.x == before.x && $0.y == before.y })
            let pointer = try draw("pointer", on: web.server)
            try wait(until: "it goes to the right") { try place(browser).x > before.x + 0.1 }
            try wait(until: "it goes down") { try place(browser).y > before.y + 0.1 }
            try wait(until: "it goes back") { try place(browser).x < before.x + 0.1 }
            try touch(browser, "touchstart", [(300, 200)])
            try touch(browser, "touchmove", [(280, 200)])
            try touch(browser, "touchend", [], lifted: [(280, 200)])
            // What has begun to move comes to rest.
            let rest = try places().last!
            #expect(try places().allSatisfy { $0.x == rest.x && $0.y == rest.y })
            for process in [clock, terminal, pointer] { process.stop() }
        }
    }
}
