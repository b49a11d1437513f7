import FoundationEssentials
import Glibc
import TestSupport
import Testing

extension Meet {
    /// A sender in a room of python-socketio's, with libwebrtc as the other member.
    @Suite struct StrangeRoomTests {
        private struct Report: Decodable {
            let frames: Int
        }

        private func frames(_ member: Subprocess) throws -> Int {
            guard let line = member.outputLines.last else { return 0 }
            return try JSONDecoder().decode(Report.self, from: Data(line.utf8)).frames
        }

        /// It speaks Socket.IO, and knows nothing of rooms.
        @Test func aServerWithoutRoomsIsASentence() throws {
            let program = """
                import socketio
                from aiohttp import web
                server, app = socketio.AsyncServer(async_mode="aiohttp"), web.Application()
                server.attach(app)
                async def tell(app): print("listening", flush=True)
                app.on_startup.append(tell)
                web.run_app(app, host="0.0.0.0", port=8090, print=None)
                """
            let network = try Network()
            let display = try XServer(.virtual(width: 320, height: 240))
            let broadcast = try Broadcast(on: display.display)
            let capture = try broadcast.start()
            defer { capture.stop() }
            let server = try Subprocess(network.atSender(Counterparts.python + ["-c", program]))
            try server.wait(until: "the server listens") { server.output.contains("listening") }
            let call = "room+http://\(Network.senderAddress):8090/tea"
            let sender = try Subprocess(
                network.atSender([Programs.oriel, "attach", "--dir", broadcast.directory, call])
            )
            try #expect(sender.wait() == .code(69))
            #expect(sender.errorOutput.contains("does not let anybody into rooms"), "\(sender.errorOutput)")
        }

        /// Over a WebSocket; by polling, where the server has nothing else; and whoever comes first.
        @Test(arguments: [["websocket"], ["polling"], ["polling", "websocket"]], [true, false])
        func theOtherMemberSeesTheScreen(transports: [String], senderIsFirst: Bool) throws {
            let network = try Network()
            let display = try XServer(.virtual(width: 640, height: 480))
            let broadcast = try Broadcast(on: display.display)
            let capture = try broadcast.start("--no-cursor")
            defer { capture.stop() }
            let program = Counterparts.python + [Counterparts.path("rooms_server.py"), "8090"]
            let server = try Subprocess(network.atSender(program + transports))
            try server.wait(until: "the server listens") { server.output.contains("listening") }
            let url = "http://\(Network.senderAddress):8090"
            let attach = [Programs.oriel, "attach", "--dir", broadcast.directory, "room+\(url)/tea"]
            let member = Counterparts.python + [Counterparts.path("rooms_member.py"), url, "tea"] + transports
            let (sender, other): (Subprocess, Subprocess)
            if senderIsFirst {
                sender = try Subprocess(network.atSender(attach))
                try sender.wait(until: "the sender is in the room") { sender.errorOutput.contains("in room") }
                other = try Subprocess(network.atViewer(member))
            } else {
                other = try Subprocess(network.atViewer(member))
                try other.wait(until: "the other one is in the room") { other.output.contains("true") }
                sender = try Subprocess(network.atSender(attach))
            }
            try sender.wait(until: "the picture comes") { try frames(other) > 0 }
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
            // It has said goodbye: the other one's connection is closed.
            try wait(until: "the other one knows") { try frames(other) == 0 }
        }
    }
}
