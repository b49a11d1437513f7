import Glibc
import TestSupport
import Testing

extension Meet {
    /// A sender in a one-to-one room, and a browser at the page of that room.
    @Suite struct RoomCallTests {
        private static let room = "tea at five"

        private final class Scene {
            let network: Network
            let display: XServer
            let broadcast: Broadcast
            let capture: Subprocess
            var rooms: Subprocess
            private let isServerFar: Bool

            /// - Parameter isServerFar: whether the server of rooms is at the other end of the network.
            init(isServerFar: Bool = false) throws {
                self.isServerFar = isServerFar
                network = try Network()
                display = try XServer(.virtual(width: 1280, height: 720))
                broadcast = try Broadcast(on: display.display)
                capture = try broadcast.start("--no-cursor")
                rooms = try Self.serve(network, isFar: isServerFar)
            }

            deinit { capture.stop() }

            private static func serve(_ network: Network, isFar: Bool) throws -> Subprocess {
                let command = [Programs.oriel, "rooms", "--listen", "0.0.0.0:8090"]
                let rooms = try Subprocess(isFar ? network.atViewer(command) : network.atSender(command))
                try rooms.wait(until: "the server of rooms listens") { rooms.output.contains("http") }
                return rooms
            }

            func restartRooms() throws {
                rooms.kill(SIGKILL)
                _ = try rooms.wait()
                rooms = try Self.serve(network, isFar: isServerFar)
            }

            private var host: String { isServerFar ? Network.viewerAddress : network.senderHost }

            func attach(_ arguments: String...) throws -> Subprocess {
                let call = "room+http://\(host):8090/\(RoomCallTests.room.replacing(" ", with: "%20"))"
                let command = [Programs.oriel, "attach", "--dir", broadcast.directory, call] + arguments
                return try Subprocess(network.atSender(command))
            }

            func open(_ kind: Browser.Kind) throws -> Browser {
                let origin = "http://\(host):8090"
                let browser = try network.browser(kind)
                try browser.open("\(origin)/\(RoomCallTests.room.replacing(" ", with: "%20"))")
                return browser
            }
        }

        private func framesDecoded(_ browser: Browser) throws -> Int {
            try browser.evaluate(
                """
                (async () => [...(await oriel.pc?.getStats() ?? new Map()).values()].find(
                    entry => entry.type === 'inbound-rtp' && entry.kind === 'video')?.framesDecoded ?? 0)()
                """,
                as: Int.self
            )
        }

        private func state(_ browser: Browser) throws -> String {
            try browser.evaluate("document.documentElement.dataset.state", as: String.self)
        }

        private func waitForPicture(_ browser: Browser, _ sender: Subprocess) throws {
            try wait(until: "the picture comes: \(sender.errorOutput)") {
                try framesDecoded(browser) > 0 && browser.evaluate("theirs.videoWidth", as: Int.self) == 1280
            }
        }

        /// The one who is there first offers.
        @Test(arguments: [Browser.Kind.chromium, .firefox], [true, false])
        func aBrowserSeesTheScreen(kind: Browser.Kind, senderIsFirst: Bool) throws {
            let scene = try Scene()
            let (browser, sender): (Browser, Subprocess)
            if senderIsFirst {
                sender = try scene.attach()
                try sender.wait(until: "the sender is in the room") { sender.errorOutput.contains("in room") }
                browser = try scene.open(kind)
            } else {
                browser = try scene.open(kind)
                try wait(until: "the browser is in the room") { try state(browser) == "waiting" }
                sender = try scene.attach()
            }
            try waitForPicture(browser, sender)
            #expect(try state(browser) == "talking")
            // A third one finds no seat.
            let third = try scene.attach()
            try #expect(third.wait() == .code(75))
            #expect(third.errorOutput.contains("is full"))
            // The sender leaves.
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try wait(until: "the page knows") { try state(browser) == "waiting" }
        }

        /// Between two browsers, the page shows a camera, either way.
        @Test func thePageSharesBack() throws {
            let scene = try Scene()
            let origin = "http://\(scene.network.senderHost):8090"
            func open() throws -> Browser {
                let browser = try Browser(
                    .chromium,
                    in: scene.network,
                    "--arg=--disable-features=WebRtcHideLocalIpsWithMdns",
                    "--arg=--unsafely-treat-insecure-origin-as-secure=\(origin)",
                    "--arg=--use-fake-device-for-media-stream",
                    "--arg=--use-fake-ui-for-media-stream"
                )
                try browser.open("\(origin)/camera")
                return browser
            }
            let first = try open()
            try wait(until: "the first is in the room") { try state(first) == "waiting" }
            let second = try open()
            for browser in [first, second] {
                try wait(until: "both talk") { try state(browser) == "talking" }
            }
            for (sharer, viewer) in [(first, second), (second, first)] {
                let _: Bool? = try sharer.evaluateOptional("(document.getElementById('camera').click(), true)")
                try wait(until: "the picture comes") { try framesDecoded(viewer) > 0 }
            }
        }

        /// The end of each member that came is told before the next one comes.
        private func expectTurns(in events: String) throws {
            let lines = String(decoding: try contents(of: events), as: UTF8.self).split(separator: "\n")
            let turns = lines.map(String.init).filter { $0.contains(#""event":"peer_"#) }
            let joined = try turns.filter { $0.contains("peer_joined") }.map { try #require(wholeNumber("id", in: $0)) }
            #expect(joined.count > 1 && Set(joined).count == joined.count)
            for (turn, (kind, id)) in zip(turns, joined.flatMap { [("peer_joined", $0), ("peer_left", $0)] }) {
                #expect(turn.contains(kind) && wholeNumber("id", in: turn) == id, "\(turns)")
            }
            #expect(turns.count >= 2 * joined.count - 1)
        }

        /// The picture stays while the server is away, and the two find each other again.
        @Test func aServerThatDiesIsJoinedAgain() throws {
            let scene = try Scene()
            let sender = try scene.attach()
            let browser = try scene.open(.chromium)
            try waitForPicture(browser, sender)
            for _ in 0..<2 {
                try scene.restartRooms()
                try waitForPicture(browser, sender)
                try wait(until: "both are there again") { try state(browser) == "talking" }
            }
            #expect(sender.status() == nil)
            #expect(sender.errorOutput.contains("trying again"))
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        /// The sender comes to another network, and the server does not know.
        @Test func aSenderThatMovesTakesItsSeatAgain() throws {
            let scene = try Scene(isServerFar: true)
            let folder = try TemporaryDirectory(of: .shared)
            let events = folder.file("events")
            let sender = try scene.attach("--events", events)
            let browser = try scene.open(.chromium)
            try waitForPicture(browser, sender)
            let counter = try draw("counter", on: scene.display, "--fps", "30")
            let _: Bool? = try browser.evaluateOptional("(oriel.pc.isFirst = true)")
            try scene.network.moveSender(to: "10.99.0.7", after: .seconds(1))
            try sender.wait(until: "the sender is in the room again") {
                sender.errorOutput.ranges(of: "in room").count == 2
            }
            try wait(until: "they find each other") {
                try browser.evaluate("oriel.pc?.isFirst !== true", as: Bool.self)
            }
            try waitForPicture(browser, sender)
            counter.stop()
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            try expectTurns(in: events)
        }

        /// The page is closed and opened again, three times.
        @Test func whoComesBackSeesTheScreenAgain() throws {
            let scene = try Scene()
            let sender = try scene.attach()
            for _ in 0..<3 {
                let browser = try scene.open(.chromium)
                try waitForPicture(browser, sender)
                let status = try scene.broadcast.run("status").output
                #expect(status.contains("room \(Self.room)"), "\(status)")
                let _: Bool? = try browser.evaluateOptional("oriel.leave()")
            }
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }

        @Test(
            arguments: [
                ("room+http://127.0.0.1:1/x", 69, "cannot reach"),
                ("room+ftp://127.0.0.1/x", 64, "write room+https://"),
                ("room+http://127.0.0.1", 64, "names no room"), ("room+http://nowhere.invalid/x", 69, "no address"),
            ] as [(String, Int32, String)]
        )
        func badRooms(call: String, code: Int32, words: String) throws {
            let display = try XServer(.virtual(width: 320, height: 240))
            let broadcast = try Broadcast(on: display.display)
            let capture = try broadcast.start()
            let sender = try Subprocess([Programs.oriel, "attach", "--dir", broadcast.directory, call])
            try #expect(sender.wait() == .code(code))
            #expect(sender.errorOutput.contains(words), "\(sender.errorOutput)")
            capture.stop()
        }
    }
}
