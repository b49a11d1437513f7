import RTP
import Testing

@testable import Calls

@Suite struct ListenerWatchTests {
    let millisecond: UInt64 = 1_000_000

    @Test func silenceAfterAProbeMeansSomebodyCame() {
        var watch = ListenerWatch(refusalsAreLimited: false)
        #expect(watch.isListening && watch.nextDeadline == nil)
        watch.refused(at: 0)
        #expect(!watch.isListening)
        #expect(watch.nextDeadline == 250 * millisecond)
        var event = watch.poll(at: 249 * millisecond)
        #expect(event == nil)
        event = watch.poll(at: 250 * millisecond)
        #expect(event == .probe)
        watch.sent(at: 250 * millisecond)
        #expect(watch.nextDeadline == 300 * millisecond)
        event = watch.poll(at: 300 * millisecond)
        #expect(event == .appeared)
        #expect(watch.isListening && watch.nextDeadline == nil)
    }

    @Test func eachRefusalStartsAgain() {
        var watch = ListenerWatch(refusalsAreLimited: true)
        for round in 0..<5 as Range<UInt64> {
            let now = round * 1000 * millisecond
            watch.refused(at: now)
            watch.sent(at: now + 10 * millisecond)
            watch.sent(at: now + 900 * millisecond)
            let event = watch.poll(at: now + 999 * millisecond)
            #expect(event == nil && !watch.isListening)
        }
    }

    @Test func feedbackProvesAListener() {
        var watch = ListenerWatch(refusalsAreLimited: true)
        var isNews = watch.heard()
        #expect(!isNews)
        watch.refused(at: 5)
        isNews = watch.heard()
        #expect(isNews && watch.isListening)
    }
}
