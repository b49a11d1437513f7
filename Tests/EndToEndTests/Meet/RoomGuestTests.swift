import Glibc
import TestSupport
import Testing

extension Meet {
    /// Others than Oriel's own members at a room.
    @Suite struct RoomGuestTests {
        /// It cannot knock: it is asked about by its connection.
        @Test func aProgramThatCannotKnockWaits() throws {
            let network = try Network()
            let display = try XServer(.virtual(width: 640, height: 480))
            let broadcast = try Broadcast(on: display.display)
            let capture = try broadcast.start("--no-cursor")
            defer { capture.stop() }
            let rooms = try Subprocess(network.atSender([Programs.oriel, "rooms", "--listen", "0.0.0.0:8090"]))
            defer { rooms.stop() }
            try rooms.wait(until: "the server of rooms listens") { rooms.output.contains("http") }
            let url = "http://\(Network.senderAddress):8090"
            let attach = [Programs.oriel, "attach", "--dir", broadcast.directory, "room+\(url)/tea", "--accept", "ask"]
            let sender = try Subprocess(network.atSender(attach + ["--answer-timeout", "600"]))
            try sender.wait(until: "the sender is in the room") { sender.errorOutput.contains("in room") }
            let member = Counterparts.python + [Counterparts.path("rooms_member.py"), url, "tea", "websocket"]
            let other = try Subprocess(network.atViewer(member))
            try sender.wait(until: "it is asked about") {
                sender.errorOutput.contains("from room tea asks to look in")
            }
            #expect(!other.output.contains(#""frames": 1"#))
            #expect(try broadcast.run("accept", "1").code == 0)
            try other.wait(until: "the picture comes: \(other.output.suffix(200))") {
                other.outputLines.last.map { !$0.contains(#""frames": 0"#) } ?? false
            }
            sender.kill(SIGTERM)
            try #expect(sender.wait() == .code(0))
        }
    }
}
