import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct KnocksTests {
    private static let key = "0123456789abcdef"

    private func outcomes(_ knocks: inout Knocks) -> [String] {
        knocks.takeAnswers().map { "\($0.knock.number) \($0.answer.rawValue)" }
    }

    @Test func whoIsLetInIsKnownUntilSentAway() throws {
        var knocks = Knocks(patience: .seconds(30))
        #expect(knocks.visitor(Self.key) == nil && knocks.visitor(nil) == nil)
        let first = knocks.knock(name: "Ann", note: "hello", key: Self.key, from: "192.0.2.1", now: .seconds(1))
        let knock = try #require(first)
        #expect(knock.number == 1 && knock.name == "Ann" && knock.note == "hello" && knock.address == "192.0.2.1")
        #expect(knocks.visitor(Self.key) == nil)
        let answered = [(1, Knocks.Answer.accepted), (1, .rejected), (2, .accepted)].map { knocks.answer($0, $1) }
        #expect(answered == [knock, nil, nil])
        #expect(outcomes(&knocks) == ["1 accepted"])
        #expect(knocks.visitor(Self.key) == Visitor(key: Self.key, name: "Ann") && knocks.waiting.isEmpty)
        knocks.forget { $0.key == Self.key }
        #expect(knocks.visitor(Self.key) == nil)
        // Without a key there is nothing to know again.
        let nameless = knocks.knock(name: "", note: "", key: nil, from: "a", now: .seconds(2))
        knocks.answer(try #require(nameless).number, .accepted)
        #expect(knocks.visitor(nil) == nil)
    }

    /// Those of the list of `--accept known`, beside those who are let in now; however many come, the list stays.
    @Test func whoWasKnownBeforeNeedNotKnock() throws {
        let before = (0..<3).map { Visitor(key: "known\($0)", name: "\($0)") }
        var knocks = Knocks(patience: .seconds(30), known: before)
        #expect(before.map { knocks.visitor($0.key) } == before)
        for number in 1...1001 {
            let now = Instant.seconds(Double(number) * 10)
            let knock = knocks.knock(name: "", note: "", key: "new\(number)", from: "a", now: now)
            knocks.answer(try #require(knock).number, .accepted)
        }
        #expect(knocks.visitor("new1") == nil && knocks.visitor("new2") != nil && knocks.visitor("new1001") != nil)
        #expect(before.map { knocks.visitor($0.key) } == before)
        knocks.forget { $0.name == "1" }
        #expect(before.map { knocks.visitor($0.key) } == [before[0], nil, before[2]])
    }

    /// In virtual time: as when a page's connection is lost, or its browser comes back, after any time; until it is kicked.
    @Test func whoWasLetInHoursAgoComesBack() throws {
        var random = SplitMix(seed: 5)
        var knocks = Knocks(patience: .seconds(30))
        var (letIn, now) = ([String](), Instant.start)
        for number in 0..<300 {
            now = now + .seconds(Double.random(in: 60...7200, using: &random))
            knocks.tick(now: now)
            #expect(knocks.waiting.isEmpty)
            let key = "visitor \(number)"
            let waiting = knocks.knock(name: "", note: "", key: key, from: "192.0.2.1", now: now)
            let knock = try #require(waiting)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                knocks.answer(knock.number, .accepted)
                letIn.append(key)
            case 1: knocks.answer(knock.number, .rejected)
            default: break
            }
            if Int.random(in: 0..<10, using: &random) == 0, let kicked = letIn.indices.randomElement(using: &random) {
                let key = letIn.remove(at: kicked)
                knocks.forget { $0.key == key }
            }
            let known = (0...number).map { "visitor \($0)" }.filter { knocks.visitor($0) != nil }
            #expect(Set(known) == Set(letIn))
        }
        #expect(now > .seconds(100 * 3600))
    }

    /// A sender that is started again numbers its knocks apart.
    @Test func anAnswerOfTheRunBeforeIsForNobody() throws {
        var knocks = Knocks(patience: .seconds(30), countingFrom: 701)
        let made = (0..<2).map { _ in knocks.knock(name: "", note: "", key: nil, from: "a", now: .start)?.number }
        #expect(made == [701, 702])
        #expect(knocks.answer(1, .accepted) == nil && knocks.answer(702, .accepted)?.number == 702)
    }

    @Test func patienceEnds() throws {
        var knocks = Knocks(patience: .seconds(30))
        for second in 1...3 {
            _ = knocks.knock(name: "", note: "", key: nil, from: "\(second)", now: .seconds(Double(second)))
        }
        #expect(knocks.nextDeadline == .seconds(31))
        knocks.tick(now: .seconds(30.9))
        #expect(outcomes(&knocks).isEmpty)
        knocks.tick(now: .seconds(32))
        #expect(outcomes(&knocks) == ["1 no_answer", "2 no_answer"])
        #expect(knocks.nextDeadline == .seconds(33))
        knocks.answer(3, .rejected)
        #expect(knocks.nextDeadline == nil)
    }

    @Test func whoKnocksAgainTakesTheFirstKnocksPlace() {
        var knocks = Knocks(patience: .seconds(30))
        for _ in 0..<8 { _ = knocks.knock(name: "", note: "", key: Self.key, from: "a", now: .start) }
        #expect(knocks.waiting.map(\.number) == [8])
        #expect(outcomes(&knocks) == (1...7).map { "\($0) cancelled" })
        // Each is told to a person.
        let more = (0..<10).map { _ in knocks.knock(name: "", note: "", key: Self.key, from: "a", now: .start) != nil }
        #expect(!more.contains(true))
        let later = knocks.knock(name: "", note: "", key: Self.key, from: "a", now: .seconds(6))
        #expect(later?.number == 9)
    }

    @Test func fewWaitAtOnce() {
        var knocks = Knocks(patience: .seconds(30))
        let fromOne = (0..<10).map { _ in knocks.knock(name: "", note: "", key: nil, from: "a", now: .start) != nil }
        #expect(fromOne.count(where: \.self) == 4)
        let fromAll = (0..<100).map { knocks.knock(name: "", note: "", key: nil, from: "\($0)", now: .start) != nil }
        #expect(fromAll.count(where: \.self) == 28)
        knocks.answer(knocks.waiting[0].number, .rejected)
        let next = knocks.knock(name: "", note: "", key: nil, from: "b", now: .start)
        #expect(next != nil)
    }

    /// Whoever has one address of IPv6 has all of its network.
    @Test func fewWaitOfOneNetwork() {
        var knocks = Knocks(patience: .seconds(600))
        func knock(from address: String, at second: Int) -> Bool {
            knocks.knock(name: "", note: "", key: nil, from: address, now: .seconds(Double(second))) != nil
        }
        for second in 0..<100 { #expect(knock(from: "2001:db8::\(second)", at: second) == (second < 4)) }
        #expect(knock(from: "2001:db8:0:1::1", at: 100))
        for second in 101..<105 { #expect(knock(from: "192.0.2.\(second)", at: second)) }
    }

    /// Names go to terminals.
    @Test(arguments: [
        (" Ann \n Lee\t", "Ann Lee"), ("\u{1B}[31mred\u{7}", "[31mred"), ("a\u{202E}b\u{200B}c", "a b c"),
        (String(repeating: "é", count: 100), String(repeating: "é", count: 60)), ("\u{2028}", ""),
        ("Ann\" from 192.0.2.1", "Ann from 192.0.2.1"), ("漢字🙂", "漢字🙂"),
    ])
    func namesAreOneLine(text: String, line: String) {
        var knocks = Knocks(patience: .seconds(30))
        let knock = knocks.knock(name: text, note: "", key: nil, from: "a", now: .start)
        #expect(knock?.name == line)
    }

    /// Those of one network, once in a while.
    @Test func whoMayNotEvenWaitIsToldOf() {
        let log = WebFixture.Log()
        let lobby = Lobby(patience: .seconds(30), schedule: { _, _ in }) { event in
            if case .turnedAway(let address, let call) = event {
                log.events.withLock { $0.append("\(address) \(call)") }
            }
        }
        func knock(from address: String) -> Int? {
            lobby.knock(name: "", note: "", key: nil, from: address, in: "room") { _, _ in }
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
        let (log, made) = (WebFixture.Log(), Made())
        let lobby = Lobby(patience: .seconds(30)) { _, _ in
            // The knock waits by now.
            made.lobby.withLock { $0.take() }?.answer(1, .accepted)
        } report: { event in
            log.events.withLock { $0.append("\(event)") }
        }
        made.lobby.withLock { $0 = lobby }
        _ = lobby.knock(name: "Ann", note: "", key: nil, from: "a") { _, _ in
            log.events.withLock { $0.append("completed") }
        }
        let knocked = "\"Ann\" from a asks to look in: \"oriel accept 1\" or \"oriel reject 1\""
        #expect(log.all == [knocked, "\"Ann\" from a is let in", "completed"])
    }

    private final class Made: Sendable {
        let lobby = Mutex<Lobby?>(nil)
    }
}
