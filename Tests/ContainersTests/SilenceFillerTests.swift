import TestSupport
import Testing
import Time

@testable import Containers

@Suite struct SilenceFillerTests {
    /// Whatever comes late, early or not at all: no hole that is longer than half a packet, and no overlap.
    @Test(arguments: 0..<100) func aTrackHasNoHoles(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var filler = SilenceFiller()
        var track: [(at: Duration, length: Duration)] = []
        func add(_ packet: [UInt8], _ at: Duration) {
            track.append((at, packet[0] == 0xFF ? .milliseconds(120) : .milliseconds(20)))
        }
        var time = Duration.milliseconds(Int.random(in: 0...50, using: &random))
        for _ in 0..<500 {
            for (packet, at) in filler.fill(until: time, takesShort: true) { add(packet, at) }
            if let at = filler.admit(at: time) { add([0xFC], at) }
            time += .milliseconds([20, 20, 20, 21, 35, 500, 3000].randomElement(using: &random)!)
        }
        for (before, after) in zip(track, track.dropFirst()) {
            let hole = after.at - (before.at + before.length)
            #expect(.zero...Duration.milliseconds(20) ~= hole, "\(before) \(after)")
        }
        #expect(filler.end == track.last.map { $0.at + $0.length })
    }

    @Test func aPacketThatIsTooLateIsLeftOut() {
        var filler = SilenceFiller()
        _ = filler.fill(until: .seconds(1), takesShort: true)
        #expect(filler.admit(at: .milliseconds(900)) == nil)
        #expect(filler.admit(at: .milliseconds(995)) == .milliseconds(1000))
    }
}
