import TestSupport
import Testing

@Suite struct FrameRateTests {
    /// RTP ticks from picture to picture of something that changes 60 times a second, captured as often.
    private func steps(sentAt framesPerSecond: Int) throws -> [UInt32] {
        let server = try XServer()
        let counter = try draw("counter", on: server, "--fps", "60")
        let broadcast = try Broadcast(on: server.display)
        let capture = try broadcast.start("--fps", "60")
        let tap = try RTPTap()
        let sender = try broadcast.attach(toPort: tap.port, "--fps", "\(framesPerSecond)", "--bitrate", "6000k")
        func timestamps() -> [UInt32] {
            let all = tap.datagrams(.media).compactMap { RTPPacket($0.bytes)?.timestamp }
            return zip(all, all.dropFirst()).compactMap { $0 == $1 ? nil : $1 }
        }
        try wait(until: "pictures have come") { timestamps().count > 150 }
        for program in [sender, capture, counter] { program.stop() }
        let times = timestamps()
        return zip(times, times.dropFirst()).map { $1 &- $0 }
    }

    @Test func sixtyPicturesASecondAreCapturedAndSent() throws {
        // A machine that is busy leaves out some.
        let steps = try steps(sentAt: 60)
        let prompt = steps.filter { $0 < 90_000 / 45 }
        #expect(prompt.count * 4 > steps.count, "\(steps)")
    }

    @Test func ofSixtyPicturesASecondThirtyAreSent() throws {
        let steps = try steps(sentAt: 30)
        let mean = Double(steps.reduce(0, +)) / Double(steps.count)
        #expect(mean > 90_000 / 30 * 0.95, "\(steps)")
    }
}
