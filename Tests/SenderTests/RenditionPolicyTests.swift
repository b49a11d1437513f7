import Media
import Testing

@testable import Sender

@Suite struct RenditionPolicyTests {
    private let second: UInt64 = 1_000_000_000
    private let a = Rendition.small(0)
    private let b = Rendition.small(1)

    private func decisions(
        _ policy: inout RenditionPolicy,
        _ wanted: [Rendition],
        at now: UInt64
    ) -> [RenditionPolicy.Decision] {
        policy.decide(wanted: Set(wanted.map(\.id)), at: now)
    }

    @Test func followsWhatIsWanted() {
        var policy = RenditionPolicy([a, b])
        #expect(decisions(&policy, [], at: 0) == [])
        #expect(decisions(&policy, [b, a], at: 0) == [.begin(a.id), .begin(b.id)])
        #expect(decisions(&policy, [a, b], at: 1) == [])
        #expect(decisions(&policy, [b], at: 2) == [.end(a.id)])
        #expect(decisions(&policy, [a], at: 3) == [.begin(a.id), .end(b.id)])
        #expect(policy.nextDeadline == nil)
    }

    @Test func oneThatFailsRestsLongerEachTime() {
        var policy = RenditionPolicy([a, b])
        var now = second
        #expect(decisions(&policy, [a, b], at: now).count == 2)
        for rest in [1, 2, 4, 8, 16, 32, 32] as [UInt64] {
            #expect(policy.noteFailure(of: a.id, at: now) == rest * second)
            #expect(policy.nextDeadline == now + rest * second)
            #expect(decisions(&policy, [a, b], at: now + rest * second - 1) == [])
            now += rest * second
            #expect(decisions(&policy, [a, b], at: now) == [.begin(a.id)])
        }
    }

    @Test func oneThatNobodyWantsIsNotBegunAgain() {
        var policy = RenditionPolicy([a])
        #expect(decisions(&policy, [a], at: 0) == [.begin(a.id)])
        policy.noteFailure(of: a.id, at: 0)
        #expect(decisions(&policy, [], at: 2 * second) == [])
        #expect(policy.nextDeadline == nil, "nothing is due")
        #expect(decisions(&policy, [a], at: 3 * second) == [.begin(a.id)])
    }

    @Test func whatWorkedForLongIsSoundAgain() {
        var policy = RenditionPolicy([a])
        _ = decisions(&policy, [a], at: 0)
        policy.noteFailure(of: a.id, at: 0)
        _ = decisions(&policy, [a], at: second)
        #expect(policy.noteFailure(of: a.id, at: 62 * second) == second)
    }
}
