import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct TailProbeTests {
    private let timeout = Duration.milliseconds(100)

    private func at(_ milliseconds: Int) -> Instant { .start + .milliseconds(milliseconds) }

    private func packet(_ number: UInt64, stream: Int = 0) -> TailProbe.Packet {
        TailProbe.Packet(number: number, stream: stream, index: number)
    }

    /// The instants of all copies, in milliseconds since the first packet left.
    private func copies(of probe: inout TailProbe, from start: Instant, for time: Int) -> [Int] {
        var instants: [Int] = []
        for millisecond in 0..<time {
            let now = start + .milliseconds(millisecond)
            while probe.takeCopy(timeout: timeout, at: now) != nil { instants.append(millisecond) }
        }
        return instants
    }

    @Test func copiesDouble() {
        var probe = TailProbe()
        #expect(probe.deadline == nil)
        probe.noteSent(packet(0), timeout: timeout, at: at(1000))
        #expect(probe.deadline == at(1100))
        let due = [1, 2, 4, 8, 16].enumerated().flatMap { Array(repeating: 100 * ($0 + 1), count: $1) }
        #expect(copies(of: &probe, from: at(1000), for: 2000) == due)
        #expect(probe.deadline == nil)
    }

    /// New packets take the place of the one that is repeated, and nothing else.
    @Test func newPacketsPutNothingOff() {
        var probe = TailProbe()
        probe.noteSent(packet(0), timeout: timeout, at: at(1000))
        probe.noteSent(packet(1), timeout: timeout, at: at(1090))
        #expect(probe.takeCopy(timeout: timeout, at: at(1100)) == packet(1))
        probe.noteSent(packet(2), timeout: timeout, at: at(1190))
        #expect(probe.takeCopy(timeout: timeout, at: at(1200)) == packet(2))
        #expect(probe.takeCopy(timeout: timeout, at: at(1200)) == packet(2))
        #expect(probe.takeCopy(timeout: timeout, at: at(1200)) == nil)
    }

    @Test func anArrivalBeginsAnew() {
        var probe = TailProbe()
        probe.noteSent(packet(5), timeout: timeout, at: at(1000))
        _ = copies(of: &probe, from: at(1000), for: 350)
        probe.noteArrival(of: 4, timeout: timeout, now: at(1350))
        #expect(probe.deadline == at(1450))
        #expect(copies(of: &probe, from: at(1350), for: 150) == [100])
        probe.noteArrival(of: 5, timeout: timeout, now: at(2000))
        #expect(probe.deadline == nil)
        probe.noteSent(packet(6), timeout: timeout, at: at(3000))
        #expect(copies(of: &probe, from: at(3000), for: 150) == [100])
    }

    /// What was due of a stream that is gone is not due of the next packet.
    @Test func aStreamIsForgottenWithItsCopies() {
        var probe = TailProbe()
        probe.noteSent(packet(0, stream: 1), timeout: timeout, at: at(1000))
        _ = copies(of: &probe, from: at(1000), for: 250)
        #expect(probe.takeCopy(timeout: timeout, at: at(1300)) != nil, "one of four")
        probe.forget(stream: 0)
        #expect(probe.packet != nil)
        probe.forget(stream: 1)
        #expect(probe.deadline == nil)
        probe.noteSent(packet(9), timeout: timeout, at: at(1350))
        #expect(probe.deadline == at(1450))
    }
}
