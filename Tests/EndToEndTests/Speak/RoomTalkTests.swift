import Glibc
import TestSupport
import Testing

extension Speak {
    /// What the other member of a room says is heard.
    @Suite struct RoomTalkTests {
        /// Whoever of the two offers.
        @Test(arguments: [true, false])
        func theSoundOfTheOtherMemberIsHeard(listensFirst: Bool) throws {
            let scene = try RoomScene()
            let singer = try scene.second.broadcast.sing("700", "700")
            let listener = try Listener(to: scene.first.broadcast)
            func listen() throws -> Subprocess { try scene.first.attach("--talkback", "ask") }
            let other = listensFirst ? nil : try scene.second.attach()
            if let other {
                try other.wait(until: "the singer is in the room") { other.errorOutput.contains("in room") }
            }
            let one = try listen()
            try one.wait(until: "the listener is in the room") { one.errorOutput.contains("in room") }
            let another = try other ?? scene.second.attach()
            let asks = #/room\+http:\/\/\S+: viewer ([0-9]+) asks to speak/#
            try wait(until: "it asks: \(one.errorOutput) \(another.errorOutput)") {
                try asks.firstMatch(in: one.errorOutput) != nil
            }
            #expect(listener.seconds == 0)
            let number = try #require(asks.firstMatch(in: one.errorOutput)?.1)
            #expect(try scene.first.broadcast.run("talk", "\(number)", "on").code == 0)
            _ = try listener.hear(1, one)
            #expect(try listener.hear(2, one).purity(of: 700, channel: 0, in: 0..<2) > 25)
            #expect(try scene.first.broadcast.run("talk", "\(number)", "off").code == 0)
            for member in [one, another] {
                member.kill(SIGTERM)
                try #expect(member.wait() == .code(0), "\(member.errorOutput)")
            }
            singer.kill(SIGTERM)
        }
    }
}
