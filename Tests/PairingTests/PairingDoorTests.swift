import Sodium
import TestSupport
import Testing
import Time

@testable import Pairing

@Suite struct PairingDoorTests {
    private let stranger = [UInt8](repeating: 0, count: 8)

    private func admit(
        _ door: inout PairingDoor,
        _ token: [UInt8],
        at now: Instant
    ) -> Result<PairingDoor.Attempt, PairingFailure> {
        Result { () throws(PairingFailure) in try door.admit(token, at: now) }
    }

    @Test func aCodeIsTriedOnce() throws {
        var door = PairingDoor()
        #expect(admit(&door, stranger, at: .start) == .failure(.refused))
        let opened = door.open(at: .start)
        let code = try #require(opened)
        let token = try #require(door.token)
        #expect(admit(&door, stranger, at: .start) == .failure(.refused))
        // Whoever says nothing keeps nobody out.
        let silent = try admit(&door, token, at: .start).get()
        let first = try admit(&door, token, at: .start).get()
        let second = try admit(&door, token, at: .start).get()
        #expect(first.code == code && second.code == code)
        let claims = [door.claim(first, at: .start), door.claim(second, at: .start), door.claim(silent, at: .start)]
        #expect(claims == [true, false, false])
        #expect(admit(&door, token, at: .start) == .failure(.busy))
        let shown = door.noteEnd(first, isPaired: false, at: .start)
        let next = try #require(shown)
        // A run with the former code has lost its chance.
        let late = door.claim(second, at: .start)
        #expect(!late && door.token == token)
        let third = try admit(&door, token, at: .start).get()
        let isClaimed = door.claim(third, at: .start)
        let after = door.noteEnd(third, isPaired: true, at: .start)
        #expect(third.code == next && isClaimed && after == nil && door.token == nil && door.deadline == nil)
        #expect(admit(&door, token, at: .start) == .failure(.refused))
    }

    /// A link that breaks after the try: another code is shown, of the same kind.
    @Test func theNextCodeIsOfTheSameKind() throws {
        for isTyped in [true, false] {
            var door = PairingDoor()
            _ = door.open(at: .start, isTyped ? .typed() : .photographed())
            let attempt = try admit(&door, try #require(door.token), at: .start).get()
            let isClaimed = door.claim(attempt, at: .start)
            let shown =
                door.noteEnd(attempt, isPaired: false, at: .start)
            let next = try #require(shown)
            #expect(isClaimed && next.isTyped == isTyped && next != attempt.code)
        }
    }

    @Test func aCodeExpires() throws {
        var door = PairingDoor()
        _ = door.open(at: .start)
        let token = try #require(door.token)
        let end: Instant = .start + PairingDoor.codeLifetime
        #expect(door.deadline == end)
        let attempt = try admit(&door, token, at: end - .nanoseconds(1)).get()
        let isLate = !door.claim(attempt, at: end)
        #expect(isLate)
        door.expire(at: end - .nanoseconds(1))
        #expect(door.token != nil)
        door.expire(at: end)
        #expect(door.token == nil)
        _ = door.open(at: .start)
        let other = try #require(door.token)
        #expect(other != token && admit(&door, other, at: end) == .failure(.late))
        #expect(admit(&door, other, at: .start) == .failure(.refused))
    }

    @Test func wrongCodesLockIt() throws {
        var door = PairingDoor()
        var now = Instant.start
        for round in 1...PairingDoor.mostTries {
            if door.token == nil { _ = door.open(at: now) }
            let attempt = try admit(&door, try #require(door.token), at: now).get()
            let isClaimed = door.claim(attempt, at: now)
            let next = door.noteEnd(attempt, isPaired: false, at: now)
            #expect(isClaimed && (next == nil) == (round == PairingDoor.mostTries))
            now += .seconds(10)
        }
        let end: Instant = now - .seconds(10) + PairingDoor.lockout
        let early = [door.open(at: now), door.open(at: end - .nanoseconds(1))]
        #expect(early == [nil, nil] && door.token == nil)
        let later = door.open(at: end)
        #expect(later != nil)
    }

    /// Whatever people and strangers do, also when an attempt ends long after it began: no more than five tries in vain in a quarter of an
    /// hour, and no code is tried twice.
    @Test func noWalkTriesMore() throws {
        var most = 0
        for seed in 0..<400 {
            var random = SplitMix(seed: UInt64(seed))
            var door = PairingDoor()
            var now = Instant.start
            var tries: [Instant] = []
            var shown: PairingCode?
            var attempts: [PairingDoor.Attempt] = []
            var claimed: [PairingDoor.Attempt] = []
            var open: (attempt: PairingDoor.Attempt, at: Instant)?
            for _ in 0..<500 {
                now += .milliseconds(Int.random(in: 0..<20_000, using: &random))
                switch Int.random(in: 0..<10, using: &random) {
                case 0: shown = door.open(at: now) ?? shown
                case 1: if Int.random(in: 0..<5, using: &random) == 0 { door.close() }
                case 2..<5:
                    guard let token = door.token, case .success(let attempt) = admit(&door, token, at: now) else {
                        continue
                    }
                    #expect(attempt.code == shown, "\(seed)")
                    attempts.append(attempt)
                case 5..<8:
                    guard let attempt = attempts.randomElement(using: &random), door.claim(attempt, at: now) else {
                        continue
                    }
                    #expect(!claimed.contains(attempt), "\(seed): a code is tried twice")
                    claimed.append(attempt)
                    if let former = open { tries.append(former.at) }
                    open = (attempt, now)
                default:
                    guard let ended = open else { continue }
                    let isPaired = Int.random(in: 0..<5, using: &random) == 0
                    if !isPaired { tries.append(ended.at) }
                    shown = door.noteEnd(ended.attempt, isPaired: isPaired, at: now) ?? shown
                    open = nil
                }
            }
            most = max(most, tries.count)
            for (index, first) in tries.enumerated() where index + 5 < tries.count {
                #expect(tries[index + 5] - first >= PairingDoor.lockout, "\(seed)")
            }
        }
        #expect(most >= 10)
    }
}
