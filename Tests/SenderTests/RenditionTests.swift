import Glibc
import Posix
import Sender
import Synchronization
import TestSupport
import Testing
import Time

@testable import Media

/// An encode is known by its rendition, and shares nothing with another but the sinks.
@Suite struct RenditionTests {
    private let large = Rendition.small(0)
    private let little = Rendition.small(1, side: 32, bitrate: 100_000)

    @Test func twoOfOneCodecRunBesideEachOther() throws {
        let sink = TestSink(wanting: [large, little])
        let sender = try RunningSender([large, little])
        sender.sinks.add(sink)
        try sender.show(20, to: sink, in: large)
        try wait(until: "the last picture comes in both") {
            sink.frames(of: little).last?.frame.captureTime == sink.frames(of: large).last?.frame.captureTime
        }
        let (one, other) = (sink.frames(of: large), sink.frames(of: little))
        #expect(
            one.allSatisfy { $0.frame.dimensions == (64, 64) } && other.allSatisfy { $0.frame.dimensions == (32, 32) }
        )
        #expect(one[0].frame.isKeyframe && other[0].frame.isKeyframe)
        #expect(Set(one.map(\.thread)).count == 1 && Set(other.map(\.thread)).count == 1)
        #expect(one[0].thread != other[0].thread)
        try sender.finish()
    }

    /// Invariant: isolated.
    @Test func oneThatFailsLeavesTheOtherAlone() throws {
        // No encoder takes that.
        let broken = Rendition.small(1, bitrate: 0)
        let sink = TestSink(wanting: [large])
        let sender = try RunningSender([large, broken])
        sender.sinks.add(sink)
        try sender.show(5, to: sink, in: large)
        sink.demand(Demand(isWanted: true), of: broken)
        let reports = sender.reports
        try wait(until: "the failure is told") {
            reports.all.contains {
                $0.hasPrefix("the encoder of VP8 failed") && $0.hasSuffix("it is started again in 1 s")
            }
        }
        try sender.show(20, to: sink, in: large)
        #expect(sink.frames(of: broken).isEmpty)
        #expect(sink.frames(of: large).count(where: \.frame.isKeyframe) == 1, "the encode of the other went on")
        try sender.finish()
    }

    /// The thread of the first encode stalls with a picture to encode, and goes on when the second has begun.
    @Test func oneThatStallsIsCutOffAndBegunAnew() throws {
        struct Stall {
            var thread: pthread_t?
            /// Its folder in /proc.
            var task: String?
            var isEndSeen = false
        }
        let release = Bell()
        let stall = Mutex(Stall())
        let sink = TestSink(wanting: [large]) { _ in
        } onDemand: { demand in
            let stallsNow = stall.withLock { stall in
                let isStalling = stall.thread == pthread_self() && stall.task == nil
                if isStalling { stall.task = Self.task }
                if !demand.isWanted { stall.isEndSeen = true }
                return isStalling
            }
            if stallsNow { release.wait(while: 0) }
        }
        let sender = try RunningSender([large])
        sender.sinks.add(sink)
        try wait(until: "the first encode works") { !sink.frames(of: large).isEmpty }
        let first = sink.frames(of: large)[0].thread
        stall.withLock { $0.thread = first }
        try sender.publish()
        try wait(until: "the first encode stalls") { stall.withLock { $0.task } != nil }
        let count = sink.frames(of: large).count
        sink.demand(.none, of: large)
        try wait(until: "the sender knows that nobody wants it") { stall.withLock { $0.isEndSeen } }
        sink.demand(Demand(isWanted: true), of: large)
        try wait(until: "the second encode works") { sink.frames(of: large).count > count }
        release.ring()
        let task = try #require(stall.withLock { $0.task })
        try wait(until: "the first thread ends") { access(task, F_OK) != 0 }
        let later = sink.frames(of: large)[count...]
        #expect(later.first?.frame.isKeyframe == true)
        #expect(later.allSatisfy { $0.thread != first })
        try sender.finish()
    }

    private static var task: String {
        var name = [UInt8](repeating: 0, count: 64)
        let count = name.withUnsafeMutableBytes { readlink("/proc/thread-self", $0.baseAddress!, $0.count) }
        return "/proc/" + String(decoding: name[..<count], as: UTF8.self)
    }

    /// Invariant: isolated.
    @Test func oneThatStallsHoldsUpNeitherTheOtherNorTheEnd() throws {
        let release = Bell()
        let stalled = little.id
        let sink = TestSink(wanting: [large, little]) { frame in
            if frame.rendition == stalled { release.wait(while: 0) }
        }
        let sender = try RunningSender([large, little])
        sender.sinks.add(sink)
        try wait(until: "one stalls") { !sink.frames(of: little).isEmpty }
        try sender.show(20, to: sink, in: large)
        #expect(sink.frames(of: little).count == 1)
        try sender.finish()
        release.ring()
    }

    /// A source that looks like the one before, or a second pause: the encode is busy and reads both at once.
    /// Invariant: notBefore.
    @Test func theSamePixelsComeAgainAfterAHorizon() throws {
        let release = Bell()
        let sink = TestSink(wanting: [large]) { _ in release.wait(while: 0) }
        let sender = try RunningSender([large])
        sender.sinks.add(sink)
        try wait(until: "the encode is busy") { !sink.frames(of: large).isEmpty }
        let captureTime = try sender.hideAndPublishAgain()
        sink.demand(Demand(isWanted: true, keyframeAt: .nanoseconds(0)), of: large)
        release.ring()
        try wait(until: "a keyframe comes") {
            sink.frames(of: large).contains { $0.frame.captureTime >= captureTime && $0.frame.isKeyframe }
        }
        try sender.finish()
    }

    @Test func oneThatNobodyWantsAnyMoreEnds() throws {
        let sink = TestSink(wanting: [large, little])
        let sender = try RunningSender([large, little])
        sender.sinks.add(sink)
        try wait(until: "both come") { !sink.frames(of: large).isEmpty && !sink.frames(of: little).isEmpty }
        sink.demand(.none, of: little)
        try sender.show(20, to: sink, in: large)
        let count = sink.frames(of: little).count
        try sender.show(5, to: sink, in: large)
        #expect(sink.frames(of: little).count == count)
        #expect(sink.frames(of: large).count(where: \.frame.isKeyframe) == 1)
        // It begins anew with a keyframe.
        sink.demand(Demand(isWanted: true), of: little)
        try wait(until: "it is back") { sink.frames(of: little).count > count }
        #expect(sink.frames(of: little)[count].frame.isKeyframe)
        try sender.finish()
    }

    /// The link carries four frames a second.
    @Test func aFilmOverAThinLinkIsSmallerAndARestIsWhole() throws {
        let sink = TestSink(wanting: [large])
        let sender = try RunningSender([large])
        sender.sinks.add(sink)
        sink.demand(Demand(isWanted: true, limit: 1000, linkRate: 1000), of: large)
        func sizes() -> [UInt16] { sink.frames(of: large).map(\.frame.dimensions.0) }
        try wait(until: "the picture is a quarter", restsBetween: false) {
            try sender.publish()
            MonotonicClock.sleep(until: MonotonicClock.now() + .milliseconds(40))
            return sizes().last == 32
        }
        #expect(sizes().contains(48))
        let captureTime = try sender.publish()
        try wait(until: "the picture is whole") { sizes().last == 64 }
        let frames = sink.frames(of: large)
        #expect(frames.last?.frame.captureTime == captureTime)
        for (frame, before) in zip(frames.dropFirst(), frames) where frame.frame.dimensions != before.frame.dimensions {
            #expect(frame.frame.isKeyframe)
            #expect(frame.frame.capturedAt > before.frame.capturedAt)
        }
        try sender.finish()
    }

    @Test func theOnlyOneThatFailsEndsTheSender() throws {
        let broken = Rendition.small(0, bitrate: 0)
        let sender = try RunningSender([broken])
        sender.sinks.add(TestSink(wanting: [broken]))
        let reports = sender.reports
        try wait(until: "the end is told") { reports.all.contains { $0.hasPrefix("ended: ") } }
        try sender.finish()
    }
}
