import Media
import TestSupport
import Testing
import Time

@testable import Access

/// How long participants may stay.
@Suite struct LeaseTests {
    private static func access(lease: Int?) -> AccessEngine {
        var settings = AccessEngine.Settings()
        settings.lease = lease
        return AccessEngine(settings)
    }

    /// Who is told of the end, and who has to go.
    private func told(_ access: inout AccessEngine) -> (warned: [ParticipantID], ended: [ParticipantID]) {
        var (warned, ended): ([ParticipantID], [ParticipantID]) = ([], [])
        for output in access.takeOutputs() {
            switch output {
            case .tell(.leaseEnding(let id)): warned.append(id)
            case .ended(let id, let rights, .leaseExpired):
                #expect(rights == [.watch, .hear])
                ended.append(id)
            default: Issue.record("\(output)")
            }
        }
        return (warned, ended)
    }

    @Test func itIsTheWishUpToWhatIsSet() {
        var free = Self.access(lease: nil)
        var bound = Self.access(lease: 300)
        for id in [1, 2, 3] as [ParticipantID] {
            free.begin(id)
            bound.begin(id)
        }
        #expect(free.beginLease(of: 1, wish: nil, at: .start) == nil)
        #expect(free.beginLease(of: 2, wish: 65_535, at: .start) == 65_535)
        #expect(bound.beginLease(of: 1, wish: nil, at: .start) == 300)
        #expect(bound.beginLease(of: 2, wish: 20, at: .start) == 20)
        #expect(bound.beginLease(of: 3, wish: 301, at: .start) == 300)
        #expect(bound.beginLease(of: 4, wish: 20, at: .start) == nil, "it has gone already")
        #expect(free.extendLease(of: 1, seconds: 10, at: .start) == .none)
        #expect(bound.extendLease(of: 2, seconds: 65_535, at: .seconds(1)) == .extended(.seconds(301)))
        #expect(bound.extendLease(of: 2, seconds: 1, at: .seconds(2)) == .extended(.seconds(301)), "never shorter")
        #expect(bound.leaseEnd(of: 2) == .seconds(301) && bound.leaseEnd(of: 4) == nil)
    }

    @Test func theEndIsToldHalfAMinuteBefore() {
        var access = Self.access(lease: 300)
        access.begin(1)
        _ = access.beginLease(of: 1, wish: nil, at: .start)
        #expect(access.nextDeadline == .seconds(270))
        access.tick(now: .seconds(270))
        expect(told(&access) == ([1], []))
        #expect(access.extendLease(of: 1, seconds: 300, at: .seconds(280)) == .extended(.seconds(580)))
        access.tick(now: .seconds(549))
        expect(told(&access) == ([], []))
        access.tick(now: .seconds(550))
        expect(told(&access) == ([1], []))
        #expect(access.nextDeadline == .seconds(580))
        access.tick(now: .seconds(580))
        expect(told(&access) == ([], [1]))
        #expect(access.extendLease(of: 1, seconds: 300, at: .seconds(580)) == .none)
        access.end(1, at: .seconds(580))
        #expect(access.nextDeadline == nil)
    }

    /// Half of a lease that is shorter than a minute.
    @Test(arguments: [1, 20, 59, 60, 61]) func aShortLeaseIsToldInTime(seconds: Int) {
        var access = Self.access(lease: seconds)
        access.begin(1)
        _ = access.beginLease(of: 1, wish: nil, at: .start)
        var (now, warnings) = (Instant.start, 0)
        for _ in 0..<5 {
            now = now + .milliseconds(300 * seconds)
            access.tick(now: now)
            warnings += told(&access).warned.count
            _ = access.extendLease(of: 1, seconds: seconds, at: now)
        }
        #expect(warnings == 0, "extended in time")
        let end = access.leaseEnd(of: 1)!
        for _ in 0..<2 where access.nextDeadline! < end { access.tick(now: access.nextDeadline!) }
        expect(told(&access) == ([1], []))
        access.tick(now: end)
        expect(told(&access) == ([], [1]))
    }

    /// Ten at once, and then one a second.
    @Test func extensionsAreLimited() {
        var access = Self.access(lease: 300)
        access.begin(1)
        _ = access.beginLease(of: 1, wish: nil, at: .start)
        let answers = (0..<1000).map { access.extendLease(of: 1, seconds: 300, at: .seconds(1) + .milliseconds($0)) }
        #expect((9...11).contains(answers.count { if case .extended = $0 { true } else { false } }))
        guard case .tooOften(let until) = answers.last else {
            Issue.record("\(answers.last!)")
            return
        }
        #expect(until > .seconds(1) && until <= .seconds(3))
        #expect(access.extendLease(of: 1, seconds: 300, at: until) == .extended(until + .seconds(300)))
    }

    @Test func suspendCounts() {
        var access = Self.access(lease: 300)
        access.begin(1)
        _ = access.beginLease(of: 1, wish: nil, at: .start)
        access.noteSleep(.seconds(200))
        #expect(access.leaseEnd(of: 1) == .seconds(100) && access.nextDeadline == .seconds(70))
        // One that came after the machine had slept, and before that is told.
        access.begin(2)
        _ = access.beginLease(of: 2, wish: nil, asleep: .seconds(3800), at: .start)
        access.noteSleep(.seconds(3800))
        #expect(access.leaseEnd(of: 2) == .seconds(300))
        access.tick(now: .seconds(1))
        let (warned, ended) = told(&access)
        #expect(warned == [] && ended == [1])
        #expect(access.extendLease(of: 2, seconds: 300, asleep: .seconds(9000), at: .seconds(1)) == .over)
    }

    /// Against a list of those who are there, and until when.
    @Test(arguments: 0..<1000 as Range<UInt64>) func anyWalkEndsInTime(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let most: Int? = Bool.random(using: &random) ? .random(in: 1...400, using: &random) : nil
        var access = Self.access(lease: most)
        var ends: [ParticipantID: Instant] = [:]
        // When the end is told.
        var warnings: [ParticipantID: Instant] = [:]
        var (now, asleep, number) = (Instant.seconds(10), Duration.zero, 0)
        func set(_ id: ParticipantID, _ seconds: Int) {
            ends[id] = now + .seconds(seconds)
            warnings[id] = ends[id]! - min(.seconds(30), .milliseconds(500) * seconds)
        }
        func check(_ access: inout AccessEngine, at instant: Instant) {
            access.tick(now: instant)
            let news = told(&access)
            let due = ends.filter { $0.value <= instant }.keys.sorted()
            #expect(news.ended == due)
            for id in due { (ends[id], warnings[id]) = (nil, nil) }
            #expect(news.warned == warnings.filter { $0.value <= instant }.keys.sorted())
            for id in news.warned { warnings[id] = nil }
        }
        for _ in 0..<100 {
            now += .milliseconds(Int.random(in: 0...40_000, using: &random))
            // The engine is called at its deadlines, and at instants that mean nothing.
            while let deadline = access.nextDeadline, deadline <= now { check(&access, at: deadline) }
            if Bool.random(using: &random) { check(&access, at: now) }
            #expect(ends.values.allSatisfy { $0 > now })
            let id = ends.keys.sorted().randomElement(using: &random)
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<4:
                number += 1
                let wish: Int? = Bool.random(using: &random) ? .random(in: 1...500, using: &random) : nil
                access.begin(ParticipantID(number))
                let given = access.beginLease(of: ParticipantID(number), wish: wish, asleep: asleep, at: now)
                #expect(given == [wish, most].compactMap(\.self).min())
                if let given { set(ParticipantID(number), given) }
            case 4..<7:
                guard let id else { continue }
                let seconds = min(.random(in: 1...500, using: &random), most ?? 500)
                let isLonger = now + .seconds(seconds) > ends[id]!
                let answer = access.extendLease(of: id, seconds: seconds, asleep: asleep, at: now)
                if case .tooOften = answer { continue }
                if isLonger { set(id, seconds) }
                #expect(answer == .extended(ends[id]!))
            case 7:
                let time = Duration.seconds(Int.random(in: 1...100, using: &random))
                asleep += time
                access.noteSleep(asleep)
                (ends, warnings) = (ends.mapValues { $0 - time }, warnings.mapValues { $0 - time })
                check(&access, at: now)
            default:
                guard let id else { continue }
                access.end(id, at: now)
                (ends[id], warnings[id]) = (nil, nil)
            }
        }
    }
}
