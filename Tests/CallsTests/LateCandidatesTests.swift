import Synchronization
import Testing
import WebRTC

@testable import Calls

@Suite struct LateCandidatesTests {
    /// What was told to those who waited.
    private final class Told: Sendable {
        let fragments = Mutex<[TrickleFragment?]>([])
        var all: [TrickleFragment?] { fragments.withLock(\.self) }
        var waiter: LateCandidates.Waiter { { fragment in self.fragments.withLock { $0.append(fragment) } } }
    }

    private static func fragment(_ ports: UInt16..., isLast: Bool = false) -> TrickleFragment {
        let candidates = ports.compactMap { Candidate(parsing: "1 1 udp 1 192.0.2.1 \($0) typ relay") }
        return TrickleFragment(credentials: nil, candidates: candidates, isLast: isLast)
    }

    /// They were found between the answer and the viewer's request.
    @Test func whatWasFoundBeforeItIsAskedForIsTold() {
        var late = LateCandidates(isComplete: false)
        let waiters = [late.add(Self.fragment(1)), late.add(Self.fragment(2, 3, isLast: true))]
        #expect(waiters.allSatisfy { $0 == nil } && late.isComplete)
        let (first, second) = (late.take(), late.take())
        #expect(first == Self.fragment(1, 2, 3, isLast: true) && second == nil)
    }

    @Test func whoeverWaitsIsToldOnce() {
        let (told, further) = (Told(), Self.fragment(1))
        var late = LateCandidates(isComplete: false)
        let former = late.wait(told.waiter)
        late.add(further)?(further)
        let waiter = late.add(Self.fragment(isLast: true))
        #expect(former == nil && waiter == nil && told.all == [further])
        let rest = late.take()
        #expect(rest == Self.fragment(isLast: true))
    }

    /// One request waits at a time.
    @Test func anotherRequestTakesThePlaceOfTheOneBefore() {
        let (first, second) = (Told(), Told())
        var late = LateCandidates(isComplete: false)
        _ = late.wait(first.waiter)
        late.wait(second.waiter)?(nil)
        late.waiter?(nil)
        #expect(first.all == [nil] && second.all == [nil])
    }

    @Test func whatARestartTellsIsNotToldAgain() {
        var late = LateCandidates(isComplete: false)
        _ = late.add(Self.fragment(1, isLast: true))
        let (told, untold) = (late.take(), late.take())
        #expect(told == Self.fragment(1, isLast: true) && untold == nil && late.isComplete)
    }
}
