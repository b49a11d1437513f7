import TestSupport
import Testing
import Time

@testable import Access

/// Who waits to be let in, and who need not.
@Suite struct LobbyTests {
    private static let key = GuestKey.test(0xABC)

    private func engine(
        patience: Duration = .seconds(30),
        guests: [Guest] = [],
        countingFrom number: Int = 1
    ) -> AccessEngine {
        var settings = AccessEngine.Settings()
        (settings.asks, settings.patience) = (true, patience)
        (settings.guests, settings.firstKnock) = (guests, number)
        return AccessEngine(settings)
    }

    private func outcomes(_ access: inout AccessEngine) -> [String] {
        access.takeOutputs().compactMap { output in
            if case .decided(let knock, let answer) = output { "\(knock.number) \(answer.rawValue)" } else { nil }
        }
    }

    @Test func whoIsLetInIsKnownUntilSentAway() throws {
        var access = engine()
        #expect(access.guest(Self.key) == nil && access.guest(nil) == nil)
        let first = access.knock(
            Knocker(name: "Ann", note: "hello", key: Self.key, address: "192.0.2.1"),
            now: .seconds(1)
        )
        let knock = try #require(first)
        #expect(knock.number == 1 && knock.name == "Ann" && knock.note == "hello" && knock.address == "192.0.2.1")
        #expect(access.guest(Self.key) == nil)
        let answered = [(1, KnockAnswer.accepted), (1, .rejected), (2, .accepted)].map { access.answer($0, $1) }
        #expect(answered == [knock, nil, nil])
        #expect(outcomes(&access) == ["1 accepted"])
        #expect(access.guest(Self.key) == Guest(key: Self.key, name: "Ann") && access.waiting.isEmpty)
        access.forget { $0.key == Self.key }
        #expect(access.guest(Self.key) == nil)
        // Without a key there is nothing to know again.
        let nameless = access.knock(Knocker(name: "", note: "", key: nil, address: "a"), now: .seconds(2))
        access.answer(try #require(nameless).number, .accepted)
        #expect(access.guest(nil) == nil)
    }

    /// Those of the list of `--accept known`, beside those who are let in now; however many come, the list stays.
    @Test func whoWasKnownBeforeNeedNotKnock() throws {
        let before = (0..<3).map { Guest(key: .test($0), name: "\($0)") }
        var access = engine(guests: before)
        #expect(before.map { access.guest($0.key) } == before)
        for number in 1...1001 {
            let now = Instant.seconds(Double(number) * 10)
            let knock = access.knock(Knocker(name: "", note: "", key: .test(1000 + number), address: "a"), now: now)
            access.answer(try #require(knock).number, .accepted)
        }
        #expect(
            access.guest(.test(1001)) == nil && access.guest(.test(1002)) != nil && access.guest(.test(2001)) != nil
        )
        #expect(before.map { access.guest($0.key) } == before)
        access.forget { $0.name == "1" }
        #expect(before.map { access.guest($0.key) } == [before[0], nil, before[2]])
    }

    /// In virtual time: as when a page's connection is lost, or its browser comes back, after any time; until it is kicked.
    @Test func whoWasLetInHoursAgoComesBack() throws {
        var random = SplitMix(seed: 5)
        var access = engine()
        var (letIn, now) = ([GuestKey](), Instant.start)
        for number in 0..<300 {
            now = now + .seconds(Double.random(in: 60...7200, using: &random))
            access.tick(now: now)
            #expect(access.waiting.isEmpty)
            let key = GuestKey.test(number)
            let waiting = access.knock(Knocker(name: "", note: "", key: key, address: "192.0.2.1"), now: now)
            let knock = try #require(waiting)
            switch Int.random(in: 0..<3, using: &random) {
            case 0:
                access.answer(knock.number, .accepted)
                letIn.append(key)
            case 1: access.answer(knock.number, .rejected)
            default: break
            }
            if Int.random(in: 0..<10, using: &random) == 0, let kicked = letIn.indices.randomElement(using: &random) {
                let key = letIn.remove(at: kicked)
                access.forget { $0.key == key }
            }
            let known = (0...number).map { GuestKey.test($0) }.filter { access.guest($0) != nil }
            #expect(Set(known) == Set(letIn))
        }
        #expect(now > .seconds(100 * 3600))
    }

    /// A sender that is started again numbers its knocks apart.
    @Test func anAnswerOfTheRunBeforeIsForNobody() throws {
        var access = engine(countingFrom: 701)
        let made = (0..<2).map { _ in
            access.knock(Knocker(name: "", note: "", key: nil, address: "a"), now: .start)?.number
        }
        #expect(made == [701, 702])
        #expect(access.answer(1, .accepted) == nil && access.answer(702, .accepted)?.number == 702)
    }

    @Test func patienceEnds() throws {
        var access = engine()
        for second in 1...3 {
            _ = access.knock(Knocker(name: "", note: "", key: nil, address: "\(second)"), now: .seconds(Double(second)))
        }
        #expect(access.nextDeadline == .seconds(31))
        access.tick(now: .seconds(30.9))
        #expect(outcomes(&access).isEmpty)
        access.tick(now: .seconds(32))
        #expect(outcomes(&access) == ["1 no_answer", "2 no_answer"])
        #expect(access.nextDeadline == .seconds(33))
        access.answer(3, .rejected)
        #expect(access.nextDeadline == nil)
    }

    @Test func whoKnocksAgainTakesTheFirstKnocksPlace() {
        var access = engine()
        for _ in 0..<8 { _ = access.knock(Knocker(name: "", note: "", key: Self.key, address: "a"), now: .start) }
        #expect(access.waiting.map(\.number) == [8])
        #expect(outcomes(&access) == (1...7).map { "\($0) cancelled" })
        // Each is told to a person.
        let more = (0..<10).map { _ in
            access.knock(Knocker(name: "", note: "", key: Self.key, address: "a"), now: .start) != nil
        }
        #expect(!more.contains(true))
        let later = access.knock(Knocker(name: "", note: "", key: Self.key, address: "a"), now: .seconds(6))
        #expect(later?.number == 9)
    }

    @Test func fewWaitAtOnce() {
        var access = engine()
        let fromOne = (0..<10).map { _ in
            access.knock(Knocker(name: "", note: "", key: nil, address: "a"), now: .start) != nil
        }
        #expect(fromOne.count(where: \.self) == 4)
        let fromAll = (0..<100).map {
            access.knock(Knocker(name: "", note: "", key: nil, address: "\($0)"), now: .start) != nil
        }
        #expect(fromAll.count(where: \.self) == 28)
        access.answer(access.waiting[0].number, .rejected)
        let next = access.knock(Knocker(name: "", note: "", key: nil, address: "b"), now: .start)
        #expect(next != nil)
    }

    /// Whoever has one address of IPv6 has all of its network.
    @Test func fewWaitOfOneNetwork() {
        var access = engine(patience: .seconds(600))
        func knock(from address: String, at second: Int) -> Bool {
            access.knock(Knocker(name: "", note: "", key: nil, address: address), now: .seconds(Double(second))) != nil
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
        var access = engine()
        let knock = access.knock(Knocker(name: text, note: "", key: nil, address: "a"), now: .start)
        #expect(knock?.name == line)
    }

    @Test func whereNobodyIsAskedAllComeIn() {
        let open = AccessEngine(AccessEngine.Settings())
        #expect(open.entry(nil) == .granted(name: "") && open.entry(Self.key) == .granted(name: ""))
        let asking = engine(guests: [Guest(key: Self.key, name: "Ann")])
        #expect(asking.entry(Self.key) == .granted(name: "Ann"))
        #expect(asking.entry(nil) == .mustKnock && asking.entry(.test(1)) == .mustKnock)
    }
}

extension GuestKey {
    /// Any key, a different one for each number.
    static func test(_ number: Int) -> GuestKey {
        let digits = String(number, radix: 16)
        return GuestKey(rawValue: String(repeating: "0", count: 64 - digits.utf8.count) + digits)!
    }
}
