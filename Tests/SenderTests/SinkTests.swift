import Posix
import Synchronization
import TestSupport
import Testing
import Time

@testable import Media
@testable import Sender

/// Sinks come and leave while a sender runs; one that is slow, full or broken costs the others nothing.
@Suite struct SinkTests {
    private let rendition = Rendition.small(0)

    private struct Broken: Error, CustomStringConvertible {
        let description = "the disk is full"
    }

    /// Invariant: oneEncode.
    @Test func oneThatJoinsGetsAKeyframeAndTheSameEncode() throws {
        let first = TestSink(wanting: [rendition])
        let sender = try RunningSender([rendition])
        sender.sinks.add(first)
        try sender.show(5, to: first, in: rendition)
        let second = TestSink(wanting: [rendition])
        second.demand(Demand(isWanted: true, keyframeAt: .seconds(0)), of: rendition)
        sender.sinks.add(second)
        try sender.show(5, to: second, in: rendition)
        let frames = (first.frames(of: rendition), second.frames(of: rendition))
        #expect(frames.1.contains { $0.frame.isKeyframe })
        #expect(frames.0.count(where: \.frame.isKeyframe) == 2)
        // What the second got, the first got too, from the same thread.
        let instants = frames.0.map(\.frame.capturedAt)
        #expect(frames.1.map(\.frame.capturedAt).allSatisfy { instants.contains($0) })
        #expect(frames.0.last!.thread == frames.1.last!.thread)
        sender.sinks.remove(second)
        let count = second.frames(of: rendition).count
        try sender.show(5, to: first, in: rendition)
        #expect(second.frames(of: rendition).count <= count + 1)
        try sender.finish()
    }

    @Test func aKeyframeIsMadeWhenItMay() throws {
        let sink = TestSink(wanting: [rendition])
        let sender = try RunningSender([rendition])
        sender.sinks.add(sink)
        try sender.show(3, to: sink, in: rendition)
        let instant: Instant = MonotonicClock.now() + .milliseconds(200)
        sink.demand(Demand(isWanted: true, keyframeAt: instant), of: rendition)
        try wait(until: "it comes, though the picture stands still") {
            sink.frames(of: rendition).count(where: \.frame.isKeyframe) == 2
        }
        let keyframe = sink.frames(of: rendition).last(where: \.frame.isKeyframe)!
        #expect(keyframe.frame.capturedAt >= instant)
        try sender.finish()
    }

    @Test func theShortestKeyframeIntervalCountsWhileItIsWanted() {
        let sinks = Sinks(target: TargetBitrate(1_000_000)) { _ in }
        for interval in [nil, 7, 5, 9] as [Int?] {
            let sink = TestSink(wanting: [rendition])
            let demand = Demand(isWanted: true, keyframeInterval: interval.map { .seconds($0) })
            sink.demand(demand, of: rendition)
            sinks.add(sink)
            if interval == nil { #expect(sinks.demand(for: rendition.id, at: .start).keyframeInterval == nil) }
            if interval == 5 { sink.demand(Demand(isWanted: false, keyframeInterval: .seconds(5)), of: rendition) }
        }
        #expect(sinks.demand(for: rendition.id, at: .start).keyframeInterval == .seconds(7))
    }

    @Test func oneThatTakesOneSizeOnlyDecidesForAll() {
        let sinks = Sinks(target: TargetBitrate(1_000_000)) { _ in }
        let (first, second) = (TestSink(wanting: [rendition]), TestSink(wanting: []))
        for sink in [first, second] { sinks.add(sink) }
        #expect(!sinks.demand(for: rendition.id, at: .start).keepsSize)
        second.demand(Demand(isWanted: false, keepsSize: true), of: rendition)
        #expect(!sinks.demand(for: rendition.id, at: .start).keepsSize)
        second.demand(Demand(isWanted: true, keepsSize: true), of: rendition)
        #expect(sinks.demand(for: rendition.id, at: .start).keepsSize)
        sinks.remove(second)
        #expect(!sinks.demand(for: rendition.id, at: .start).keepsSize)
    }

    /// One whose links carry all leaves no limit.
    @Test func theOneThatCanTakeMostSetsTheLimit() {
        let sinks = Sinks(target: TargetBitrate(1_000_000)) { _ in }
        let (first, second, third) = (
            TestSink(wanting: [rendition]), TestSink(wanting: []), TestSink(wanting: [rendition])
        )
        for sink in [first, second, third] { sinks.add(sink) }
        func limit() -> Int? { sinks.demand(for: rendition.id, at: .start).limit }
        #expect(limit() == nil)
        first.demand(Demand(isWanted: true, limit: 300_000), of: rendition)
        #expect(limit() == nil)
        third.demand(Demand(isWanted: true, limit: 500_000), of: rendition)
        #expect(limit() == 500_000)
        // It does not receive the rendition.
        second.demand(Demand(isWanted: false, limit: 900_000), of: rendition)
        #expect(limit() == 500_000)
        second.demand(Demand(isWanted: true), of: rendition)
        #expect(limit() == nil)
    }

    /// A recorder beside a viewer with a thin link takes what the viewer takes, and costs the viewer nothing. One whose link is dead holds it up
    /// for five seconds at most.
    @Test func oneThatFollowsSetsNoPace() {
        let sinks = Sinks(target: TargetBitrate(1_000_000)) { _ in }
        let (file, viewer) = (TestSink(wanting: [rendition]), TestSink(wanting: [rendition]))
        func demand() -> Demand { sinks.demand(for: rendition.id, at: .start) }
        sinks.add(file)
        file.demand(Demand(isWanted: true, keyframeAt: .seconds(1), keepsSize: true, follows: true), of: rendition)
        #expect(demand().limit == nil && demand().isFullUntil == nil && demand().isWanted)
        sinks.add(viewer)
        for (room, expected) in [(Instant.seconds(3), Instant.seconds(3)), (.seconds(60), .seconds(5))] {
            viewer.demand(
                Demand(isWanted: true, isFullUntil: room, limit: 300_000, linkRate: 400_000),
                of: rendition
            )
            let sum = demand()
            #expect(sum.limit == 300_000 && sum.linkRate == 400_000 && sum.keepsSize)
            #expect(sum.isFullUntil == expected && sum.keyframeAt == expected, "no keyframe before there is room")
        }
        viewer.demand(Demand(isWanted: true), of: rendition)
        #expect(demand().limit == nil && demand().isFullUntil == nil && demand().keyframeAt == .seconds(1))
        viewer.demand(Demand(isWanted: false, isFullUntil: .seconds(9), limit: 1), of: rendition)
        #expect(demand().limit == nil && demand().isFullUntil == nil, "nobody to follow")
    }

    /// Encoders are woken, and follow it within what the links carry.
    @Test func whatTheUserSetsReachesEncodersAtOnce() {
        let sinks = Sinks(target: TargetBitrate(1_000_000)) { _ in }
        let (free, thin) = (Demand(isWanted: true), Demand(isWanted: true, limit: 400_000))
        #expect(sinks.bitrate(for: free) == 1_000_000 && sinks.bitrate(for: thin) == 400_000)
        for (target, bounded) in [(300_000, 300_000), (2_000_000, 400_000)] {
            let rings = sinks.bell.count
            sinks.setTarget(target)
            #expect(sinks.bell.count != rings)
            #expect(sinks.bitrate(for: free) == target && sinks.bitrate(for: thin) == bounded)
        }
    }

    /// Invariant: isolated.
    @Test func oneThatIsFullHoldsUpNobody() throws {
        let full = TestSink(wanting: [rendition])
        full.demand(Demand(isWanted: true, isFullUntil: Instant(nanoseconds: .max)), of: rendition)
        let sender = try RunningSender([rendition])
        sender.sinks.add(full)
        // While all are full nothing is encoded.
        let sink = TestSink(wanting: [rendition])
        sender.sinks.add(sink)
        try sender.show(20, to: sink, in: rendition)
        sender.sinks.remove(sink)
        let count = full.frames(of: rendition).count
        for _ in 0..<5 { try sender.publish() }
        #expect(full.frames(of: rendition).count <= count + 1)
        full.demand(Demand(isWanted: true), of: rendition)
        try sender.show(1, to: full, in: rendition)
        try sender.finish()
    }

    /// Invariant: isolated.
    @Test func oneThatThrowsIsToldAndLeft() throws {
        let broken = TestSink(wanting: [rendition]) { _ in throw Broken() }
        let sink = TestSink(wanting: [rendition])
        let sender = try RunningSender([rendition])
        sender.sinks.add(broken)
        sender.sinks.add(sink)
        try sender.show(20, to: sink, in: rendition)
        #expect(broken.frames(of: rendition).count == 1)
        #expect(sender.reports.all.count { $0 == "the disk is full" } == 1)
        try sender.finish()
    }

    /// A sink that waits is given a thread of its own, and loses what it cannot take, up to a keyframe.
    /// Invariant: isolated.
    @Test func oneThatWaitsDelaysNobody() throws {
        let release = Bell()
        let slow = TestSink(wanting: [rendition]) { _ in release.wait(while: 0) }
        let queued = try QueuedSink(slow)
        let sink = TestSink(wanting: [rendition])
        let sender = try RunningSender([rendition])
        sender.sinks.add(sink)
        sender.sinks.add(queued)
        try sender.show(1, to: sink, in: rendition)
        try wait(until: "it waits") { !slow.frames(of: rendition).isEmpty }
        try sender.show(40, to: sink, in: rendition)
        #expect(slow.frames(of: rendition).count == 1)
        let before = sink.frames(of: rendition).count
        release.ring()
        try wait(until: "it goes on with a keyframe", restsBetween: false) {
            try sender.publish()
            return slow.frames(of: rendition).count > 17
        }
        // What waited, and then from the keyframe on: no frame that cannot be decoded.
        let frames = slow.frames(of: rendition)
        let all = sink.frames(of: rendition).map(\.frame.capturedAt)
        let start = try #require(all.firstIndex(of: frames[0].frame.capturedAt))
        #expect(frames[..<17].map(\.frame.capturedAt) == Array(all[start..<start + 17]))
        #expect(frames[17].frame.isKeyframe)
        #expect(before >= 40)
        try sender.finish()
        queued.close()
    }

    @Test func theBroadcastsStateIsTold() throws {
        let sink = TestSink(wanting: [rendition])
        let sender = try RunningSender([rendition])
        sender.sinks.add(sink)
        try sender.show(1, to: sink, in: rendition)
        try wait(until: "the state is told") { sender.reports.conditions.withLock { $0.contains(.active) } }
        try sender.finish()
        #expect(sender.reports.conditions.withLock { $0.last } == .stopped)
    }
}
