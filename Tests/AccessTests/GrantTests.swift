import Media
import TestSupport
import Testing
import Time

@testable import Access

/// Rights for a time.
@Suite struct GrantTests {
    private func ended(_ access: inout AccessEngine) -> [ParticipantID] {
        access.takeOutputs().compactMap { output in
            guard case .ended(let id, let rights, .over) = output else { return nil }
            #expect(rights == [.watch, .hear, .talk])
            return id
        }
    }

    /// Against a list of those who are there, and until when.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func theyEndInTimeAndOnce(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let keys = (0..<5).map { GuestKey.test($0) }
        // The first is a guest for ever.
        var untils: [GuestKey: Instant] = [:]
        for key in keys.dropFirst() { untils[key] = .seconds(Double.random(in: 1...100, using: &random)) }
        var settings = AccessEngine.Settings()
        (settings.asks, settings.talk) = (true, .on)
        settings.guests = keys.map { Guest(key: $0, name: "Ann", until: untils[$0]) }
        var access = AccessEngine(settings)
        var present: [ParticipantID: Instant] = [:]
        var now = Instant.seconds(0)
        for number in 1...200 {
            now += .milliseconds(Double.random(in: 0...1000, using: &random))
            access.tick(now: now)
            let due = present.filter { $0.value <= now }.keys.sorted()
            expect(ended(&access) == due)
            for id in due {
                present[id] = nil
                #expect(access.talkState(of: id) == .none)
            }
            #expect(access.nextDeadline == untils.values.filter { $0 > now }.min())
            let (id, key) = (ParticipantID(number), keys.randomElement(using: &random)!)
            let isOver = untils[key].map { $0 <= now } ?? false
            #expect(access.entry(key) == (isOver ? .mustKnock : .granted(name: "Ann")))
            if !isOver {
                access.begin(id)
                access.begin(id, guest: key)
                present[id] = untils[key]
            }
            if let gone = present.keys.randomElement(using: &random), Bool.random(using: &random) {
                access.end(gone, at: now)
                present[gone] = nil
            }
        }
    }

    /// Against a list of those who are there, by their keys.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func whoIsSentAwayGoesWithAllOfItsKey(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var settings = AccessEngine.Settings()
        settings.asks = true
        var guests = Set((0..<4).map { GuestKey.test($0) })
        settings.guests = guests.map { Guest(key: $0, name: "\($0)") }
        var access = AccessEngine(settings)
        var present: [ParticipantID: GuestKey?] = [:]
        for number in 1...100 {
            let id = ParticipantID(number)
            let key: GuestKey? = Bool.random(using: &random) ? .test(Int.random(in: 0..<8, using: &random)) : nil
            access.begin(id, canSpeak: Bool.random(using: &random), guest: key)
            present[id] = .some(key)
            guard Int.random(in: 0..<5, using: &random) == 0 else { continue }
            let meant = ParticipantID(Int.random(in: 1...number + 1, using: &random))
            let (guest, ids) = access.sendAway(meant)
            let known = present[meant] ?? nil
            let all = present.filter { $0.key == meant || known != nil && $0.value == known }.keys.sorted()
            #expect(ids == (present[meant] == nil ? [] : all))
            #expect(guest?.key == known.flatMap { guests.remove($0) })
            if let known { #expect(access.entry(known) == .mustKnock) }
            for id in ids {
                access.end(id, at: .start)
                present[id] = nil
            }
        }
    }

    @Test func whoseTimeIsOverIsHeardNoMore() {
        var settings = AccessEngine.Settings()
        settings.talk = .on
        settings.guests = [Guest(key: .test(1), name: "Ann", until: .seconds(10))]
        var access = AccessEngine(settings)
        for id in [1, 2] as [ParticipantID] { access.begin(id, guest: .test(id.number)) }
        func say(_ id: ParticipantID, at now: Instant) -> Bool {
            let isHeard = access.hears(id, level: 20, isQuiet: false, at: now)
            access.noteLoud(id, at: now)
            return isHeard
        }
        expect(say(1, at: .seconds(9)))
        #expect(access.talkState(of: 1) == .speaking && access.nextDeadline == .seconds(10))
        access.tick(now: .seconds(9))
        expect(ended(&access) == [])
        access.tick(now: .seconds(10))
        expect(ended(&access) == [1])
        expect(!say(1, at: .seconds(10)) && access.heard.isEmpty)
        expect(say(2, at: .seconds(10)))
        #expect(access.nextDeadline == .seconds(11))
    }
}
