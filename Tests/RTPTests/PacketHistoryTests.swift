import Media
import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct PacketHistoryTests {
    private func history(_ codec: VideoCodec = .vp8, capacity: Int = 10) -> PacketHistory {
        var random = SplitMix64(seed: 1)
        return PacketHistory(codec: codec, maximumPayloadSize: 106, capacity: capacity, using: &random)
    }

    private func append(
        _ frame: [UInt8],
        to history: PacketHistory,
        isKeyframe: Bool = false,
        at instant: Instant = .start
    ) {
        history.append(
            frame: frame,
            isKeyframe: isKeyframe,
            dimensions: (640, 480),
            capturedAt: instant,
            now: instant + .nanoseconds(5)
        )
    }

    @Test func anEmptyOneHoldsNothing() {
        let history = history()
        #expect(history.start == 0)
        #expect(history.end == 0)
        #expect(!history.contains(0))
        #expect(history.entry == nil)
    }

    @Test func aPictureIsCutIntoPacketsThatKnowTheirPlace() {
        let history = history()
        let frame = (0..<250).map { UInt8($0) }
        append(frame, to: history, at: .seconds(1))
        #expect(history.end == 3)
        let packets = (0..<3).map { history[$0] }
        #expect(packets.flatMap { $0.payload.dropFirst(6) } == frame)
        #expect(packets.map(\.isFirst) == [true, false, false])
        #expect(packets.map(\.isLast) == [false, false, true])
        #expect(packets.allSatisfy { $0.payload.count <= 106 })
        #expect(packets.allSatisfy { $0.ticks == 90_000 && $0.capturedAt == .seconds(1) })
        #expect(packets.allSatisfy { $0.appendedAt == .nanoseconds(1_000_000_005) })
    }

    /// Packets of a picture that stood still were taken when it was first seen.
    /// Invariant: paused.
    @Test(arguments: [5, 100])
    func whatWasTakenBeforeAnInstantIsForgotten(capacity: Int) {
        let history = history(capacity: capacity)
        for instant in [10, 20, 20, 30] as [UInt64] {
            let frame = [UInt8](repeating: 1, count: 150)
            history.append(
                frame: frame,
                isKeyframe: instant == 20,
                dimensions: (640, 480),
                capturedAt: .nanoseconds(instant + 100),
                captureTime: .nanoseconds(instant),
                now: .nanoseconds(200)
            )
        }
        let start = history.start
        let none = history.forget(takenBefore: .start)
        #expect(!none && history.start == start)
        let some = history.forget(takenBefore: .nanoseconds(21))
        #expect(some && history.start == 6 && history.end == 8)
        #expect(!history.contains(history.entry!.index))
        let again = history.forget(takenBefore: .nanoseconds(21))
        #expect(!again)
        let all = history.forget(takenBefore: .nanoseconds(.max))
        #expect(all && history.start == history.end)
        append([1, 2, 3], to: history, isKeyframe: true, at: .nanoseconds(40))
        #expect(history.start == 8 && history.contains(8) && history[8].payload.suffix(3) == [1, 2, 3])
    }

    /// Against a plain array that keeps everything, while the capacity changes now and then.
    @Test(arguments: [[1], [2], [7], [64], [1, 2, 7, 64], [40, 100]])
    func theNewestPacketsStayAsTheyWere(capacities: [Int]) {
        var random = SplitMix64(seed: UInt64(capacities.reduce(0, +)))
        var capacity = capacities[0]
        let history = history(.vp9, capacity: capacity)
        var archive: [[UInt8]] = []
        var oldest = 0
        var ticks: [UInt64] = []
        var keyframe: UInt64?
        for round in 0..<500 as Range<UInt64> {
            let isKeyframe = Int.random(in: 0..<10, using: &random) == 0
            if Int.random(in: 0..<20, using: &random) == 0 {
                capacity = capacities.randomElement(using: &random)!
                history.setCapacity(capacity)
                oldest = max(oldest, archive.count - capacity)
                #expect(history.start == UInt64(oldest))
            }
            if isKeyframe { keyframe = history.end }
            let size = Int.random(in: 1...min(600, capacity * 90), using: &random)
            let frame = (0..<size).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
            let before = history.end
            append(frame, to: history, isKeyframe: isKeyframe, at: .nanoseconds(round / 3 * 11_000))
            for index in before..<history.end {
                archive.append(history[index].payload)
                ticks.append(history[index].ticks)
            }
            #expect(history.end == UInt64(archive.count))
            oldest = max(oldest, archive.count - capacity)
            #expect(history.start == UInt64(oldest))
            #expect(history.entry?.index == keyframe)
            for index in archive.indices.suffix(capacity + 2) {
                #expect(history.contains(UInt64(index)) == (index >= oldest))
                if history.contains(UInt64(index)) { #expect(history[UInt64(index)].payload == archive[index]) }
            }
            #expect(!history.contains(history.end))
        }
        #expect(ticks == ticks.sorted())
    }

    /// Invariant: oneClock.
    @Test func eachPictureIsLaterThanTheOneBefore() {
        let history = history(capacity: 100)
        let instants: [UInt64] = [5_000_000_000, 5_000_000_000, 1, 5_000_005_000, 6_000_000_000, 0]
        for instant in instants { append([1], to: history, at: .nanoseconds(instant)) }
        let ticks = (0..<history.end).map { history[$0].ticks }
        #expect(zip(ticks, ticks.dropFirst()).allSatisfy { $0 < $1 })
        #expect((0..<history.end).map { history[$0].frameNumber } == Array(1...6))
        #expect(ticks == [450_000, 450_001, 450_002, 450_003, 540_000, 540_001])
    }

    @Test func theKeyframeIsNamedEvenWhenItIsGone() {
        let history = history(capacity: 2)
        append([1], to: history)
        append([2], to: history, isKeyframe: true, at: .nanoseconds(100))
        #expect(history.entry == .init(index: 1, appendedAt: .nanoseconds(105)))
        for _ in 0..<5 { append([3], to: history) }
        #expect(history.entry == .init(index: 1, appendedAt: .nanoseconds(105)))
        #expect(!history.contains(1))
    }
}
