import RTP
import TestSupport
import Testing
import Time

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

    @Test func holdsOffAndRemembers() {
        var requests = KeyframeRequests()
        requests.request()
        expect(requests.take(at: start))
        for wait in 1...10 {
            requests.request()
            expect(!requests.take(at: start + .milliseconds(wait)))
        }
        #expect(requests.nextDeadline == start + .milliseconds(300))
        expect(!requests.take(at: start + .milliseconds(300) - .nanoseconds(1)))
        expect(requests.take(at: start + .milliseconds(300)))
        expect(!requests.take(at: start + .milliseconds(900)))
        #expect(requests.count == 11)
    }

    @Test func repeatedCommandTriggersOnce() {
        var requests = KeyframeRequests()
        requests.request(7, from: 1)
        expect(requests.take(at: start))
        requests.request(7, from: 1)
        expect(!requests.take(at: start + .milliseconds(1000)))
        requests.request(8, from: 1)
        expect(requests.take(at: start + .milliseconds(1000)))
        requests.request(8, from: 2)
        expect(requests.take(at: start + .milliseconds(2000)))
    }

    @Test func commandNumbersWrap() {
        var requests = KeyframeRequests()
        requests.request(255, from: 1)
        expect(requests.take(at: start))
        requests.request(0, from: 1)
        expect(requests.take(at: start + .milliseconds(1000)))
    }

    @Test func unaskedKeyframeAnswersToo() {
        var requests = KeyframeRequests()
        requests.request()
        requests.keyframeSent(at: start)
        expect(!requests.take(at: start + .milliseconds(1000)))
        requests.request()
        expect(requests.take(at: start + .milliseconds(300)))
    }

    @Test func forgedRequestersDoNotPileUp() {
        var requests = KeyframeRequests()
        for requester in 0..<100_000 as Range<UInt32> { requests.request(1, from: requester) }
        #expect(requests.count == 100_000)
        requests.request(1, from: 99_999)
        #expect(requests.count == 100_000)
    }
}
