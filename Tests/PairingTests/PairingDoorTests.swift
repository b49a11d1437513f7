import Sodium
import TestSupport
import Testing
import Time

@testable import Pairing

@Suite struct PairingDoorTests {
    private func admit(
        _ door: inout PairingDoor,
        _ token: [UInt8],
        at now: Instant
    ) -> Result<PairingCode, PairingFailure> {
        Result { () throws(PairingFailure) in try door.admit(token, at: now) }
    }

    @Test func oneAfterTheOtherTriesACodeOnce() throws {
        var door = PairingDoor()
        let stranger = [UInt8](repeating: 0, count: 8)
        #expect(admit(&door, stranger, at: .start) == .failure(.refused))
        let opened = door.open(at: .start)
        let code = try #require(opened)
        let token = try #require(door.token)
        #expect(admit(&door, stranger, at: .start) == .failure(.refused))
        #expect(admit(&door, token, at: .start) == .success(code))
        #expect(admit(&door, token, at: .start) == .failure(.busy))
        #expect(admit(&door, stranger, at: .start) == .failure(.refused))
        // A link that was lost says nothing about the code.
        door.noteEnd(isPaired: false, at: .start)
        #expect(admit(&door, token, at: .start) == .success(code))
        let second = door.noteWrong(at: .start)
        let next = try #require(second)
        #expect(admit(&door, token, at: .start) == .success(next))
        door.noteEnd(isPaired: true, at: .start)
        #expect(door.token == nil && door.deadline == nil)
        #expect(admit(&door, token, at: .start) == .failure(.refused))
    }

    @Test func aCodeExpires() throws {
        var door = PairingDoor()
        _ = door.open(at: .start)
        let token = try #require(door.token)
        let end = Instant.start + PairingDoor.time
        #expect(door.deadline == end)
        _ = try door.admit(token, at: end - .nanoseconds(1))
        let next = door.noteWrong(at: end)
        #expect(next == nil && door.token == nil)
        _ = door.open(at: .start)
        let other = try #require(door.token)
        #expect(other != token)
        #expect(admit(&door, other, at: end) == .failure(.late))
        #expect(admit(&door, other, at: .start) == .failure(.refused))
    }

    @Test func wrongCodesCloseItForAWhile() throws {
        var door = PairingDoor()
        var now = Instant.start
        for round in 1...PairingDoor.mostFailures {
            if door.token == nil { _ = door.open(at: now) }
            let token = try #require(door.token)
            _ = try door.admit(token, at: now)
            let next = door.noteWrong(at: now)
            #expect((next == nil) == (round == PairingDoor.mostFailures))
            now += .seconds(10)
        }
        let end: Instant = now - .seconds(10) + PairingDoor.rest
        let early = [door.open(at: now), door.open(at: end - .nanoseconds(1))]
        #expect(early == [nil, nil] && door.token == nil)
        let later = door.open(at: end)
        #expect(later != nil)
        // The count begins anew.
        _ = try door.admit(try #require(door.token), at: end)
        let next = door.noteWrong(at: end)
        #expect(next != nil)
    }

    /// Whatever people and strangers do: no more than five wrong codes in a quarter of an hour, and no code is tried twice.
    @Test func noWalkTriesMore() throws {
        for seed in 0..<300 {
            var random = SplitMix(seed: UInt64(seed))
            var door = PairingDoor()
            var now = Instant.start
            var wrong: [Instant] = []
            var shown: PairingCode?
            var tried: Set<String> = []
            for _ in 0..<400 {
                now += .milliseconds(Int.random(in: 0..<60_000, using: &random))
                switch Int.random(in: 0..<6, using: &random) {
                case 0: shown = door.open(at: now) ?? shown
                case 1:
                    door.close()
                    shown = nil
                case 2: door.noteEnd(isPaired: false, at: now)
                default:
                    guard let token = door.token, let code = try? door.admit(token, at: now) else { continue }
                    #expect(code == shown, "\(seed)")
                    guard Bool.random(using: &random) else { continue }
                    #expect(tried.insert("\(code.text) \(token)").inserted, "\(seed): a code is tried twice")
                    wrong.append(now)
                    shown = door.noteWrong(at: now)
                }
            }
            for (index, first) in wrong.enumerated() where index + 5 < wrong.count {
                #expect(wrong[index + 5] - first >= PairingDoor.rest, "\(seed)")
            }
        }
    }
}
