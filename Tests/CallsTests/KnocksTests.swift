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
        #expect(!knocks.isKnown(Self.key) && !knocks.isKnown(nil))
        let first = knocks.knock(name: "Ann", note: "hello", key: Self.key, from: "192.0.2.1", now: .seconds(1))
        let knock = try #require(first)
        #expect(knock.number == 1 && knock.name == "Ann" && knock.note == "hello" && knock.address == "192.0.2.1")
        #expect(!knocks.isKnown(Self.key))
        let answered = [(1, Knocks.Answer.accepted), (1, .rejected), (2, .accepted)].map { knocks.answer($0, $1) }
        #expect(answered == [true, false, false])
        #expect(outcomes(&knocks) == ["1 accepted"])
        #expect(knocks.isKnown(Self.key) && knocks.waiting.isEmpty)
        knocks.forget(Self.key)
        #expect(!knocks.isKnown(Self.key))
        // Without a key there is nothing to know again; a short one could be guessed.
        for key in [nil, "short", String(repeating: "x", count: 129)] {
            let knock = knocks.knock(name: "", note: "", key: key, from: "a", now: .seconds(2))
            knocks.answer(try #require(knock).number, .accepted)
            #expect(!knocks.isKnown(key))
        }
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
}
