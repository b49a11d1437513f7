import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct ListenerWatchTests {
    @Test func silenceAfterAProbeMeansSomebodyCame() {
        var watch = ListenerWatch(refusalsAreLimited: false)
        #expect(watch.isListening && watch.nextDeadline == nil)
        watch.refused(at: .start)
        #expect(!watch.isListening)
        #expect(watch.nextDeadline == .milliseconds(250))
        var event = watch.poll(at: .milliseconds(249))
        #expect(event == nil)
        event = watch.poll(at: .milliseconds(250))
        #expect(event == .probe)
        watch.sent(at: .milliseconds(250))
        #expect(watch.nextDeadline == .milliseconds(300))
        event = watch.poll(at: .milliseconds(300))
        #expect(event == .appeared)
        #expect(watch.isListening && watch.nextDeadline == nil)
    }

    @Test func eachRefusalStartsAgain() {
        var watch = ListenerWatch(refusalsAreLimited: true)
        for round in 0..<5 {
            let now = Instant.seconds(Double(round))
            watch.refused(at: now)
            watch.sent(at: now + .milliseconds(10))
            watch.sent(at: now + .milliseconds(900))
            let event = watch.poll(at: now + .milliseconds(999))
            #expect(event == nil && !watch.isListening)
        }
    }

    @Test func feedbackProvesAListener() {
        var watch = ListenerWatch(refusalsAreLimited: true)
        var isNews = watch.heard()
        #expect(!isNews)
        watch.refused(at: .nanoseconds(5))
        isNews = watch.heard()
        #expect(isNews && watch.isListening)
    }
}
