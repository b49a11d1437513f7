import TestSupport
import Testing
import Time

@testable import RTP

extension KeyframeRequests {
    /// Makes a keyframe if one is asked for and may be made.
    fileprivate mutating func take(at now: Instant) -> Bool {
        guard let deadline = nextDeadline, now >= deadline else { return false }
        keyframeSent(at: now)
        return true
    }
}

@Suite struct KeyframeRequestsTests {
    let start = Instant.seconds(1)

    @Test func answersTheFirstRequestAtOnce() {
        var requests = KeyframeRequests()
        #expect(requests.nextDeadline == nil)
        expect(!requests.take(at: start))
        requests.request()
        #expect(requests.nextDeadline! <= start)
        expect(requests.take(at: start))
        expect(!requests.take(at: start))
    }

    @Test func oneMayComeAheadOfItsTime() {
        var requests = KeyframeRequests()
        for wait in [0, 10] {
            requests.request()
            expect(requests.take(at: start + .milliseconds(wait)))
        }
    }

    @Test func holdsOffAndRemembers() {
        var requests = KeyframeRequests()
        for _ in 0..<2 {
            requests.request()
            expect(requests.take(at: start))
        }
        for wait in 1...10 {
            requests.request()
            expect(!requests.take(at: start + .milliseconds(wait)))
        }
        #expect(requests.nextDeadline == start + .milliseconds(300))
        expect(!requests.take(at: start + .milliseconds(300) - .nanoseconds(1)))
        expect(requests.take(at: start + .milliseconds(300)))
        expect(!requests.take(at: start + .milliseconds(900)))
        #expect(requests.count == 12)
    }

    @Test func aFloodGetsOneInEachInterval() {
        var requests = KeyframeRequests()
        let taken = (0...3000).filter { wait in
            requests.request()
            return requests.take(at: start + .milliseconds(wait))
        }
        #expect(taken == [0] + Array(stride(from: 0, through: 3000, by: 300)).map { max($0, 1) })
    }

    @Test func unaskedKeyframeAnswersToo() {
        var requests = KeyframeRequests()
        requests.request()
        requests.keyframeSent(at: start)
        expect(!requests.take(at: start + .milliseconds(1000)))
        requests.request()
        expect(requests.take(at: start + .milliseconds(300)))
    }
}

@Suite struct FullIntraCommandsTests {
    @Test func aRepeatedCommandCountsOnce() {
        var commands = FullIntraCommands()
        let taken = [(7, 1), (7, 1), (8, 1), (8, 2), (8, 1), (7, 1)].map { commands.insert($0, from: $1) }
        #expect(taken == [true, false, true, true, false, true])
    }

    @Test func commandNumbersWrap() {
        var commands = FullIntraCommands()
        let taken = [255, 0, 0].map { commands.insert($0, from: 1) }
        #expect(taken == [true, true, false])
    }

    @Test func forgedRequestersDoNotPileUp() {
        var commands = FullIntraCommands()
        let taken = (0..<100_000).map { commands.insert(1, from: $0) }
        #expect(!taken.contains(false))
        expect(!commands.insert(1, from: 99_999))
        expect(commands.insert(1, from: 0))
    }
}
