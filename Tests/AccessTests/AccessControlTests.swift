import Media
import Posix
import Synchronization
import TestSupport
import Testing
import Time

@testable import Access

@Suite struct AccessControlTests {
    /// What was told and decided, in order.
    private final class Log: Sendable {
        private let lines = Mutex<[String]>([])
        private let wakes = Atomic(0)
        var all: [String] { lines.withLock(\.self) }
        var wakeCount: Int { wakes.load(ordering: .relaxed) }
        func note(_ line: String) { lines.withLock { $0.append(line) } }
        func wake() { wakes.add(1, ordering: .relaxed) }
    }

    private static func control(patience: Duration = .seconds(30)) -> AccessControl {
        var settings = AccessEngine.Settings()
        (settings.asks, settings.patience) = (true, patience)
        return AccessControl(settings)
    }

    private static func knocker(_ name: String = "", from address: String = "a", key: GuestKey? = nil) -> Knocker {
        Knocker(name: name, note: "", key: key, address: address)
    }

    private static func answer(_ number: Int, _ answer: KnockAnswer, at access: AccessControl) {
        access.change { engine, _ in _ = engine.answer(number, answer) }
    }

    /// Those of one network, once in a while.
    @Test func whoMayNotEvenWaitIsToldOf() {
        let (log, access) = (Log(), Self.control())
        access.begin(
            AccessControl.Outlets(wake: log.wake) { event in
                if case .turnedAway(let address, let call) = event { log.note("\(address) \(call)") }
            }
        )
        func knock(from address: String) -> Int? {
            access.knock(Knocker(name: "", note: "", key: nil, address: address, call: "room")) { _, _ in }
        }
        for number in 1...4 { #expect(knock(from: "192.0.2.9") == number) }
        #expect(log.all.isEmpty)
        for _ in 0..<3 { #expect(knock(from: "192.0.2.9") == nil) }
        for _ in 0..<4 { #expect(knock(from: "2001:db8::1") != nil) }
        for _ in 0..<2 { #expect(knock(from: "2001:db8::1") == nil) }
        #expect(log.all == ["192.0.2.9 room", "2001:db8::1 room"])
    }

    /// Another thread may answer as soon as the knock waits.
    @Test func aKnockIsToldBeforeItsAnswer() {
        let (log, access) = (Log(), Self.control())
        access.begin(
            AccessControl.Outlets {
                // The knock waits by now.
                Self.answer(1, .accepted, at: access)
            } tell: { event in
                log.note(event.sentence ?? "")
            }
        )
        _ = access.knock(Self.knocker("Ann")) { _, _ in log.note("decided") }
        let knocked = "\"Ann\" from a asks to look in: \"oriel accept 1\" or \"oriel reject 1\""
        #expect(log.all == [knocked, "\"Ann\" from a is let in", "decided"])
    }

    /// Whoever knocks again; also what was to be told before anybody listened.
    @Test func theFirstKnockIsDecidedBeforeTheSecondIsTold() {
        let (log, access) = (Log(), Self.control())
        for number in 1...2 {
            _ = access.knock(Self.knocker("Ann", key: .test(1))) { _, answer in log.note("\(number) \(answer)") }
        }
        #expect(log.all.isEmpty)
        access.begin(AccessControl.Outlets(wake: log.wake) { log.note($0.sentence ?? "") })
        func knocked(_ number: Int) -> String {
            "\"Ann\" from a asks to look in: \"oriel accept \(number)\" or \"oriel reject \(number)\""
        }
        #expect(log.all == [knocked(1), "\"Ann\" from a waits no more", "1 cancelled", knocked(2)])
        #expect(log.wakeCount == 1, "somebody waits already")
    }

    /// Its name is needed until then, also while another thread is telling.
    @Test func aParticipantEndsAfterItsEvents() throws {
        var settings = AccessEngine.Settings()
        settings.talk = .on
        let (log, access) = (Log(), AccessControl(settings))
        let (isTelling, goOn) = (Bell(), Bell())
        access.begin(
            AccessControl.Outlets(wake: {}) { event in
                guard case .talk(let id, let talk) = event else { return }
                log.note("\(id) \(talk)")
                guard talk == .revoked else { return }
                isTelling.ring()
                goOn.waitUntilRung()
            }
        )
        access.change { engine, now in
            for id in [1, 2] as [ParticipantID] { engine.begin(id) }
            _ = engine.hears(1, level: 20, isQuiet: false, at: now)
            engine.noteLoud(1, at: now)
        }
        let teller = try Thread { access.change { engine, now in _ = engine.revokeTalk(2, at: now) } }
        isTelling.waitUntilRung()
        access.end(1) { log.note("1 is gone") }
        #expect(log.all == ["1 started(isNews: true)", "2 revoked"])
        goOn.ring()
        teller.join()
        #expect(log.all.suffix(2) == ["1 ended", "1 is gone"])
        access.end(2) { log.note("2 is gone") }
        #expect(log.all.last == "2 is gone")
    }

    /// Many threads knock and answer at once: for each knock it is told, then answered, then decided, and each once.
    @Test func eachKnockHasItsOrder() throws {
        let (log, access) = (Log(), Self.control())
        access.begin(
            AccessControl.Outlets(wake: {}) { event in
                switch event {
                case .knocked(let knock):
                    log.note("\(knock.number) knocked")
                case .answered(let knock, _): log.note("\(knock.number) answered")
                case .turnedAway, .talk, .leaseEnding: break
                }
            }
        )
        let made = Mutex<[Int]>([])
        let isOver = Atomic(false)
        let knock = { @Sendable (thread: Int) in
            for round in 0..<1000 {
                // Each of another network, so that none is limited.
                let knocker = Self.knocker(from: "\(thread) \(round)")
                let number = access.knock(knocker) { knock, _ in log.note("\(knock.number) decided") }
                if let number { made.withLock { $0.append(number) } }
            }
        }
        let first = try Thread { knock(1) }
        let second = try Thread { knock(2) }
        let answerer = try Thread {
            while !isOver.load(ordering: .acquiring) || !access.read(\.waiting).isEmpty {
                for knock in access.read(\.waiting) { Self.answer(knock.number, .rejected, at: access) }
            }
        }
        first.join()
        second.join()
        isOver.store(true, ordering: .releasing)
        answerer.join()
        access.close()
        var stages: [Substring: [Substring]] = [:]
        for line in log.all {
            let words = line.split(separator: " ")
            stages[words[0], default: []].append(words[1])
        }
        #expect(stages.count == made.withLock(\.count) && !stages.isEmpty)
        #expect(stages.values.allSatisfy { $0 == ["knocked", "answered", "decided"] })
    }

    /// One that has been told when to come is woken only to come earlier.
    @Test func whoComesAnywayIsNotWoken() throws {
        let (log, access) = (Log(), Self.control(patience: .seconds(600)))
        access.begin(AccessControl.Outlets(wake: log.wake) { _ in })
        #expect(access.turn() == nil && log.wakeCount == 0)
        let before: Instant = MonotonicClock.now()
        _ = access.knock(Self.knocker(from: "1")) { _, _ in }
        #expect(log.wakeCount == 1)
        _ = access.knock(Self.knocker(from: "2")) { _, _ in }
        #expect(log.wakeCount == 1, "the first one's patience ends before")
        let deadline = try #require(access.turn())
        #expect(deadline >= before + .seconds(600))
        // The next one's end is later.
        Self.answer(1, .rejected, at: access)
        #expect(log.wakeCount == 1)
        let second = try #require(access.turn())
        #expect(second >= deadline)
        Self.answer(2, .rejected, at: access)
        #expect(access.turn() == nil && log.wakeCount == 1)
        _ = access.knock(Self.knocker(from: "3")) { _, _ in }
        #expect(log.wakeCount == 2)
    }

    @Test func aTurnEndsThePatience() {
        let (log, access) = (Log(), Self.control(patience: .zero))
        access.begin(AccessControl.Outlets(wake: log.wake) { log.note($0.sentence ?? "") })
        _ = access.knock(Self.knocker("Ann")) { _, answer in log.note("\(answer)") }
        #expect(access.turn() == nil)
        #expect(log.all.suffix(2) == ["\"Ann\" from a got no answer", "noAnswer"])
    }

    /// Told as the events are.
    @Test func aTurnEndsRights() {
        let log = Log()
        var settings = AccessEngine.Settings()
        settings.guests = [Guest(key: .test(1), name: "Ann", until: .start)]
        let access = AccessControl(settings)
        access.begin(
            AccessControl.Outlets(wake: log.wake) { _ in
            } ended: { participant, rights, _ in
                log.note("\(participant) \(rights == [.watch, .hear])")
            }
        )
        access.change { engine, _ in engine.begin(7, guest: .test(1)) }
        #expect(log.all.isEmpty && log.wakeCount == 1)
        #expect(access.turn() == nil && log.all == ["7 true"])
    }

    /// Though another thread is at it.
    @Test func whoeverWaitsIsToldBeforeTheEnd() throws {
        let (log, access) = (Log(), Self.control())
        let (isAtIt, mayGoOn) = (Bell(), Bell())
        access.begin(AccessControl.Outlets(wake: {}) { _ in })
        for number in 1...3 {
            _ = access.knock(Self.knocker(from: "\(number)")) { _, answer in
                if number == 1 {
                    isAtIt.ring()
                    mayGoOn.waitUntilRung()
                }
                log.note("\(number) \(answer)")
            }
        }
        let answerer = try Thread { Self.answer(1, .rejected, at: access) }
        isAtIt.waitUntilRung()
        let closer = try Thread {
            access.close(within: .seconds(600))
            log.note("closed")
        }
        while !access.read(\.waiting).isEmpty { MonotonicClock.sleep(for: .milliseconds(1)) }
        mayGoOn.ring()
        answerer.join()
        closer.join()
        #expect(log.all == ["1 rejected", "2 cancelled", "3 cancelled", "closed"])
    }

    /// As by a sender one of whose calls cannot begin.
    @Test func whoeverWaitsIsToldThoughNothingHasBegun() {
        let (log, access) = (Log(), Self.control())
        _ = access.knock(Self.knocker()) { _, answer in log.note("\(answer)") }
        access.close()
        #expect(log.all == ["cancelled"])
    }

    /// One that hangs keeps nobody for ever.
    @Test func theEndWaitsForNoHangingOne() throws {
        let (log, access) = (Log(), Self.control())
        let (isAtIt, mayGoOn) = (Bell(), Bell())
        access.begin(AccessControl.Outlets(wake: {}) { _ in })
        _ = access.knock(Self.knocker()) { _, _ in
            isAtIt.ring()
            mayGoOn.waitUntilRung()
        }
        let answerer = try Thread { Self.answer(1, .rejected, at: access) }
        isAtIt.waitUntilRung()
        access.close(within: .milliseconds(1))
        log.note("closed")
        mayGoOn.ring()
        answerer.join()
        #expect(log.all == ["closed"])
    }
}

extension Bell {
    fileprivate func waitUntilRung() { while count == 0 { wait(while: 0) } }
}
