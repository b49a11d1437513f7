import TestSupport
import Testing
import Time

@testable import Peers

@Suite struct RenditionCapacityTests {
    private let now = Instant.seconds(7)

    /// - Parameter waitedFor: the places of those that count in any case.
    private func capacity(
        _ estimates: [Double],
        backlogs: [Duration] = [],
        waitedFor: Set<Int> = []
    ) -> RenditionCapacity {
        let links = estimates.indices.map { index in
            RenditionCapacity.Link(
                estimate: estimates[index],
                backlog: index < backlogs.count ? backlogs[index] : .zero,
                isWaitedFor: waitedFor.contains(index)
            )
        }
        return RenditionCapacity(links, most: 2_500_000, at: now)
    }

    @Test func nothingIsKnownOfNoLink() {
        #expect(capacity([]).limit == nil)
        #expect(capacity([]).linkRate == nil)
        #expect(capacity([]).isFullUntil == nil)
    }

    @Test(arguments: [50_000, 300_000, 1e6, 2.9e6, 12.5e6, 1e12])
    func theRateIsAShareOfTheEstimate(estimate: Double) throws {
        let capacity = capacity([estimate])
        #expect(try #require(capacity.linkRate) == Int(0.85 * estimate))
        if let limit = capacity.limit {
            #expect(0.8 * estimate...0.85 * estimate ~= Double(limit) && limit < 2_500_000)
        } else {
            #expect(0.85 * estimate >= 2_500_000)
        }
    }

    /// A link that varies a little has the encoder keep its target, and still is used as it is.
    @Test func smallChangesKeepTheTarget() throws {
        let (before, after) = (capacity([300_000]), capacity([301_000]))
        #expect(before.limit == after.limit && before.limit != nil)
        #expect(try #require(after.linkRate) > #require(before.linkRate))
    }

    @Test func aLinkThatMayBeSharedIsWaitedFor() {
        #expect(capacity([2.9e6, 1e6, 0.3e6]) == capacity([1e6]))
        #expect(capacity([2.9e6, 1e6, 0.3e6], waitedFor: [1, 2]) == capacity([0.3e6]))
    }

    /// Of fifty, ten that carry less than half of what most do are not waited for; one that carries a bit less is.
    @Test func fewBadLinksSlowDownNobody() throws {
        let good = Array(repeating: 4e6, count: 40)
        #expect(capacity(good + Array(repeating: 0.5e6, count: 10)) == capacity(good))
        #expect(capacity(good + [2.5e6]) == capacity([2.5e6]))
        #expect(try #require(capacity([0.5e6] + Array(repeating: 0.4e6, count: 9)).linkRate) < 400_000)
    }

    @Test func itIsFullWhileEverybodyIs() {
        #expect(capacity([1e6, 1e6], backlogs: [.milliseconds(300), .milliseconds(100)]).isFullUntil == nil)
        #expect(
            capacity([1e6, 1e6], backlogs: [.milliseconds(300), .milliseconds(150)]).isFullUntil
                == now + .milliseconds(50)
        )
        // One that does not count is not waited for.
        #expect(
            capacity([4e6, 4e6, 0.5e6], backlogs: [.milliseconds(300), .milliseconds(200), .zero]).isFullUntil
                == now + .milliseconds(100)
        )
    }
}
