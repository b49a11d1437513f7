import Media
import TestSupport
import Testing
import Time

@testable import Peers

@Suite struct RenditionLadderTests {
    private static let need = 2_940_000.0

    /// A ladder and the links of its peers, which are looked at each 20 ms.
    private struct Scene {
        var ladder: RenditionLadder
        var rates: [ParticipantID: Double?] = [:]
        /// Those who are at one address; all others have one of their own.
        var neighbours: Set<ParticipantID> = []
        var losses: [ParticipantID: Double] = [:]
        var now = Instant.seconds(9)
        /// Changes of rungs so far.
        var changes = 0

        init(rungs: Int) { ladder = RenditionLadder(count: rungs) }

        mutating func run(for time: Duration, _ change: (inout Scene, Int) -> Void = { _, _ in }) {
            for step in 0..<Int(time / .milliseconds(20)) {
                change(&self, step)
                let before = rungs
                let links = rates.map { peer, rate in
                    RenditionLadder.Link(
                        peer: peer,
                        rate: rate,
                        address: neighbours.contains(peer) ? "192.0.2.1" : "\(peer)",
                        loss: losses[peer] ?? 0
                    )
                }
                ladder.place(links, need: need, at: now)
                changes += rates.keys.filter { ladder.rung(of: $0) != before[$0] ?? 0 }.count
                now += .milliseconds(20)
            }
        }

        var waitedFor: Set<ParticipantID> { Set(rates.keys.filter { ladder.isWaitedFor($0, at: now) }) }

        var rungs: [ParticipantID: Int] {
            Dictionary(uniqueKeysWithValues: rates.keys.map { ($0, ladder.rung(of: $0)) })
        }
    }

    /// Ten of fifty, or forty.
    @Test(arguments: [1, 10, 25, 40, 49]) func badLinksGetARungOfTheirOwn(count: Int) {
        var scene = Scene(rungs: 2)
        for peer in 0..<50 { scene.rates[ParticipantID(peer)] = peer < count ? 500_000 : 12e6 }
        scene.run(for: .milliseconds(400))
        #expect(scene.rungs.values.allSatisfy { $0 == 0 })
        scene.run(for: .milliseconds(200))
        #expect(scene.rungs.allSatisfy { $1 == ($0.number < count ? 1 : 0) })
        #expect(scene.changes == count)
    }

    @Test func nobodyChangesWithoutAReason() {
        var scene = Scene(rungs: 3)
        scene.rates = [1: 12e6, 2: 1.5e6, 3: nil]
        scene.run(for: .seconds(60))
        // More than anybody needs is as good as what everybody needs; and what is not known is not bad.
        #expect(scene.rungs == [1: 0, 2: 0, 3: 0])
        scene.rates = [1: 200_000]
        scene.run(for: .seconds(60))
        #expect(scene.rungs == [1: 0])
        #expect(scene.changes == 0)
    }

    @Test func thereAreNoMoreRungsThanAreAllowed() {
        for rungs in 1...3 {
            var scene = Scene(rungs: rungs)
            scene.rates = [1: 2.9e6, 2: 1e6, 3: 300_000, 4: 90_000]
            scene.run(for: .seconds(5))
            #expect(scene.rungs == [1: 0, 2: 1, 3: 2, 4: 3].mapValues { min($0, rungs - 1) })
        }
    }

    @Test func aShortFallIsForgiven() {
        var scene = Scene(rungs: 2)
        scene.rates = [1: 3e6, 2: 3e6]
        scene.run(for: .seconds(60)) { scene, step in scene.rates[2] = step % 40 < 20 ? 1e6 : 2e6 }
        #expect(scene.changes == 0)
    }

    /// It needs to be clearly better, for long, and others must be there.
    @Test func aBetterLinkClimbs() {
        var scene = Scene(rungs: 2)
        scene.rates = [1: 3e6, 2: 500_000, 3: 500_000]
        scene.run(for: .seconds(1))
        scene.rates[2] = 1.9e6
        scene.run(for: .seconds(60))
        #expect(scene.rungs == [1: 0, 2: 1, 3: 1])
        scene.rates[2] = 2.2e6
        scene.run(for: .milliseconds(9900))
        #expect(scene.rungs[2] == 1)
        scene.run(for: .milliseconds(200))
        #expect(scene.rungs == [1: 0, 2: 0, 3: 1])
        #expect(scene.changes == 3)
        scene.rates = [3: 3e6]
        scene.run(for: .seconds(60))
        #expect(scene.rungs == [3: 1], "an encode of its own follows it wherever it is")
        scene.rates[4] = .some(nil)
        scene.run(for: .seconds(11))
        #expect(scene.rungs == [3: 0, 4: 0])
    }

    /// Three that share 3 Mb/s: a probe shows one of them the whole link, while the others know their part.
    @Test func neighboursStayTogether() {
        var scene = Scene(rungs: 2)
        scene.neighbours = [1, 2, 3]
        scene.rates = [1: 2.9e6, 2: 900_000, 3: 800_000]
        scene.run(for: .seconds(60))
        #expect(scene.changes == 0)
        // A link of their own does not matter to those elsewhere.
        scene.rates[4] = 900_000
        scene.run(for: .seconds(1))
        #expect(scene.rungs == [1: 0, 2: 0, 3: 0, 4: 1])
    }

    /// At one address, one may still have a bad link.
    @Test func aBadLinkAmongNeighboursGetsARungOfItsOwn() {
        var scene = Scene(rungs: 2)
        scene.neighbours = [1, 2, 3]
        scene.rates = [1: 2.9e6, 2: 2.9e6, 3: 500_000]
        scene.run(for: .milliseconds(3900))
        #expect(scene.rungs[3] == 0)
        #expect(scene.waitedFor == [3])
        scene.run(for: .milliseconds(200))
        #expect(scene.rungs == [1: 0, 2: 0, 3: 1])
        #expect(scene.waitedFor == [])
        // It was as good after all.
        scene.rates[3] = 950_000
        scene.run(for: .milliseconds(3100))
        #expect(scene.rungs == [1: 0, 2: 0, 3: 0])
        #expect(scene.changes == 2)
    }

    /// A policed link loses what is too much for it, whoever is beside it.
    @Test func aNeighbourThatLosesMuchHasALinkOfItsOwn() {
        var scene = Scene(rungs: 2)
        scene.neighbours = [1, 2]
        scene.rates = [1: 2.9e6, 2: 1e6]
        scene.run(for: .seconds(5)) { scene, step in scene.losses[2] = step == 100 ? 0.3 : 0 }
        #expect(scene.rungs == [1: 0, 2: 1])
        #expect(scene.waitedFor == [])
        scene.run(for: .seconds(60))
        #expect(scene.rungs == [1: 0, 2: 0], "it has not lost anything for long")
    }

    /// Where there is one rung, and of peers that are not neighbours.
    @Test func nobodyIsWaitedForLong() {
        var scene = Scene(rungs: 1)
        scene.neighbours = [1, 2]
        scene.rates = [1: 2.9e6, 2: 1e6, 3: 100_000]
        scene.run(for: .milliseconds(3900))
        #expect(scene.waitedFor == [2])
        scene.run(for: .milliseconds(200))
        #expect(scene.waitedFor == [])
        // Most are elsewhere.
        (scene.rates[4], scene.rates[5], scene.rates[2]) = (2.9e6, 2.9e6, 2e6)
        scene.run(for: .milliseconds(100))
        scene.rates[2] = 1e6
        scene.run(for: .milliseconds(100))
        #expect(scene.waitedFor == [])
        (scene.rates[4], scene.rates[5]) = (nil, nil)
        // It has recovered, and is behind again.
        scene.rates[2] = 2e6
        scene.run(for: .milliseconds(100))
        scene.rates[2] = 1e6
        scene.run(for: .milliseconds(100))
        #expect(scene.waitedFor == [2])
    }

    @Test func aPeerThatLeftIsForgotten() {
        var scene = Scene(rungs: 2)
        scene.rates = [1: 3e6, 2: 500_000]
        scene.run(for: .seconds(1))
        #expect(scene.rungs[2] == 1)
        scene.rates[2] = nil
        scene.run(for: .milliseconds(20))
        #expect(scene.ladder.rung(of: 2) == 0)
    }

    /// Whatever links do: a peer that stays on the best rung has half of what the best there has, but for the time to fall.
    @Test(arguments: 0..<20) func nobodyIsHeldUp(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var scene = Scene(rungs: Int.random(in: 2...3, using: &random))
        var badSince: [ParticipantID: Instant] = [:]
        for _ in 0..<2000 {
            let peer = ParticipantID(.random(in: 0..<6, using: &random))
            if Int.random(in: 0..<40, using: &random) == 0 {
                scene.rates[peer] = .random(in: 1e5...4e6, using: &random)
            }
            scene.run(for: .milliseconds(20))
            let best = scene.rates.values.compactMap { $0 }.max().map { min($0, Self.need) } ?? 0
            for (peer, rate) in scene.rates {
                guard scene.ladder.rung(of: peer) == 0, let rate, rate < 0.5 * best else {
                    badSince[peer] = nil
                    continue
                }
                let since = badSince[peer] ?? scene.now
                badSince[peer] = since
                #expect(scene.now - since <= .milliseconds(520))
            }
        }
    }
}
