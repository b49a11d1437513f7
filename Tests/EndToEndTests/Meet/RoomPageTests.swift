import TestSupport
import Testing

extension Meet {
    /// The page of a room: what it says, and what it lends to whom.
    @Suite struct RoomPageTests {
        /// A server of rooms, and browsers that come to it.
        private final class Scene {
            let network: Network
            let origin: String
            private let rooms: Subprocess

            init() throws {
                network = try Network()
                let address = "\(Network.senderAddress):8090"
                let rooms = try Subprocess(network.atSender([Programs.oriel, "rooms", "--listen", address]))
                (origin, self.rooms) = ("http://\(address)", rooms)
                try rooms.wait(until: "the server of rooms listens") { rooms.output.contains("http") }
            }

            deinit { rooms.stop() }

            /// - Parameter camera: whether the browser, Chromium, takes the page for one that came by HTTPS, and lends it a camera.
            func open(_ kind: Browser.Kind, _ path: String, camera: Bool = false) throws -> Browser {
                let lent = [
                    "--unsafely-treat-insecure-origin-as-secure=\(origin)",
                    "--use-fake-device-for-media-stream", "--use-fake-ui-for-media-stream",
                ]
                let browser =
                    camera
                    ? try Browser(kind, in: network, sound: nil, kind.arguments + lent.map { "--arg=\($0)" })
                    : try network.browser(kind)
                try browser.open("\(origin)/\(path)")
                return browser
            }
        }

        private func wait(for state: String, of browser: Browser) throws {
            try TestSupport.wait(until: "the page is \(state)") {
                try browser.evaluate("document.documentElement.dataset.state", as: String.self) == state
            }
        }

        private func text(_ id: String, of browser: Browser) throws -> String {
            try browser.evaluate("document.getElementById('\(id)').textContent", as: String.self)
        }

        /// Keeps what cameras the page gets, in `cameras`, as soon as `lend` lets it.
        private func holdCameras(_ browser: Browser) throws {
            let script = """
                (() => {
                    window.cameras = [];
                    const { mediaDevices } = navigator, open = mediaDevices.getUserMedia.bind(mediaDevices);
                    mediaDevices.getUserMedia = async constraints => {
                        await new Promise(resolve => { window.lend = resolve; });
                        const stream = await open(constraints);
                        cameras.push(...stream.getTracks());
                        return stream;
                    };
                    return true;
                })()
                """
            _ = try browser.evaluate(script, as: Bool.self)
        }

        @Test(arguments: Browser.Kind.allCases) func aRoomIsNamedAndItsLinkShown(kind: Browser.Kind) throws {
            let scene = try Scene()
            let browser = try scene.open(kind, "")
            try wait(for: "choosing", of: browser)
            #expect(try browser.audit() == [])
            #expect(try !browser.isShown("controls"))
            let go = """
                (document.getElementById('room').value = 'tea & cake', document.getElementById('entry').requestSubmit(), true)
                """
            let _: Bool? = try browser.evaluateOptional(go)
            // The page may be on its way.
            try TestSupport.wait(until: "the page is in the room") {
                let state = "document.documentElement.dataset.state"
                return (try? browser.evaluate(state, as: String.self)) == "waiting"
            }
            #expect(try text("title", of: browser) == "Room “tea & cake”")
            let link = try browser.evaluate("document.getElementById('link').value", as: String.self)
            #expect(link == "\(scene.origin)/tea%20%26%20cake")
            #expect(try browser.audit() == [])
            // Browsers lend a page without TLS neither.
            for id in ["screen", "camera"] {
                #expect(try browser.evaluate("document.getElementById('\(id)').disabled", as: Bool.self))
            }
            #expect(try browser.isShown("why"))
            #expect(try text("why", of: browser).contains("https"))
        }

        @Test func aCameraIsForThoseInTheRoomAlone() throws {
            let scene = try Scene()
            let other = try scene.open(.chromium, "tea")
            try wait(for: "waiting", of: other)
            let browser = try scene.open(.chromium, "tea", camera: true)
            for page in [browser, other] { try wait(for: "talking", of: page) }
            #expect(try text("status", of: browser).hasPrefix("Nobody shares yet. Share your screen or camera"))
            #expect(try text("status", of: other) == "The other one is here, and shares nothing yet.")
            #expect(try browser.audit() == [])
            try holdCameras(browser)
            try browser.click("camera")
            try browser.click("leave")
            try wait(for: "left", of: browser)
            #expect(try browser.audit() == [])
            // The camera comes too late.
            _ = try browser.evaluate("(lend(), true)", as: Bool.self)
            try TestSupport.wait(until: "it is off") {
                try browser.evaluate("cameras.length === 1 && cameras[0].readyState === 'ended'", as: Bool.self)
            }
            #expect(try !browser.isShown("own"))
            // Nobody is asked for another one.
            let attempt = "(window.lend = null, document.getElementById('camera').click(), lend === null)"
            #expect(try browser.evaluate(attempt, as: Bool.self))
            try browser.click("leave")
            try wait(for: "talking", of: browser)
            try browser.click("camera")
            _ = try browser.evaluate("(lend(), true)", as: Bool.self)
            try TestSupport.wait(until: "it is shown") { try browser.isShown("own") }
            #expect(try text("status", of: browser) == "You share. The other one shares nothing yet.")
            #expect(try browser.audit() == [])
            // It goes off with who leaves.
            try browser.click("leave")
            try wait(for: "left", of: browser)
            #expect(try browser.evaluate("cameras.every(({ readyState }) => readyState === 'ended')", as: Bool.self))
            #expect(try !browser.isShown("own"))
        }

        /// At the address of no room, nothing is lent either.
        @Test func whereThereIsNoRoomThereIsNoCamera() throws {
            let scene = try Scene()
            let browser = try scene.open(.chromium, "", camera: true)
            try wait(for: "choosing", of: browser)
            try holdCameras(browser)
            #expect(try browser.evaluate("(document.getElementById('camera').click(), 'lend' in window)") == false)
        }
    }
}
