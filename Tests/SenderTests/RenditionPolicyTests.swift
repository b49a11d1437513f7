import Media
import TestSupport
import Testing
import Time

@testable import Sender

@Suite struct RenditionPolicyTests {
    private let a = Rendition.small(0)
    private let b = Rendition.small(1)

    private func decisions(
        _ policy: inout RenditionPolicy,
        _ wanted: [Rendition],
        at now: Instant
    ) -> [SenderEngine.Action] {
        policy.decide(wanted: Set(wanted.map(\.id)), at: now)
    }

    @Test func followsWhatIsWanted() {
        var policy = RenditionPolicy([a, b])
        #expect(decisions(&policy, [], at: .seconds(0)) == [])
        #expect(decisions(&policy, [b, a], at: .seconds(0)) == [.begin(a), .begin(b)])
        #expect(decisions(&policy, [a, b], at: .seconds(1)) == [])
        #expect(decisions(&policy, [b], at: .seconds(2)) == [.end(a.id)])
        policy.noteEnd(of: a.id)
        #expect(decisions(&policy, [a], at: .seconds(3)) == [.begin(a), .end(b.id)])
        #expect(policy.nextDeadline == nil)
    }

    @Test func oneThatFailsRestsLongerEachTime() {
        var policy = RenditionPolicy([a, b])
        var now = Instant.seconds(1)
        #expect(decisions(&policy, [a, b], at: now).count == 2)
        for rest in [1, 2, 4, 8, 16, 32, 32].map(Duration.seconds) {
            #expect(policy.noteFailure(of: a.id, at: now) == rest)
            #expect(policy.nextDeadline == now + rest)
            #expect(decisions(&policy, [a, b], at: now + rest - .nanoseconds(1)) == [])
            now += rest
            #expect(decisions(&policy, [a, b], at: now) == [.begin(a)])
        }
    }

    @Test func oneThatNobodyWantsIsNotBegunAgain() {
        var policy = RenditionPolicy([a])
        #expect(decisions(&policy, [a], at: .seconds(0)) == [.begin(a)])
        policy.noteFailure(of: a.id, at: .seconds(0))
        #expect(decisions(&policy, [], at: .seconds(2)) == [])
        #expect(policy.nextDeadline == nil, "nothing is due")
        #expect(decisions(&policy, [a], at: .seconds(3)) == [.begin(a)])
    }

    @Test func whatWorkedForLongIsSoundAgain() {
        var policy = RenditionPolicy([a])
        _ = decisions(&policy, [a], at: .seconds(0))
        policy.noteFailure(of: a.id, at: .seconds(0))
        _ = decisions(&policy, [a], at: .seconds(1))
        #expect(policy.noteFailure(of: a.id, at: .seconds(62)) == .seconds(1))
    }
}
