import Helpers
import TestSupport
import Testing
import Time

@testable import Asking

@Suite struct QuestionsTests {
    private func knock(_ id: Int, _ name: String = "") -> Question {
        .knocked(Question.Knock(id: id, name: name, note: "", address: "192.0.2.\(id)", key: nil))
    }

    @Test func oneIsAskedAfterTheOther() {
        var questions = Questions()
        #expect(questions.show(now: .start) == nil)
        questions.take(knock(1, "Ann"))
        questions.take(knock(2, "Bob"))
        #expect(questions.isDue && !questions.isOpen)
        let first = questions.show(now: .seconds(1))
        #expect(first == "let in \"Ann\" from 192.0.2.1? Type y (yes), n (no) or a (always), and Enter")
        #expect(questions.isOpen && questions.show(now: .seconds(1)) == nil)
        let answer = questions.typed(" Y ", now: .seconds(2))
        #expect(answer == .answer(id: 1, .accept))
        // The sender has the last word, and until then nothing is typed about anybody.
        #expect(!questions.isOpen && !questions.isDue)
        #expect(questions.typed("n", now: .seconds(3)) == nil)
        questions.take(.answered(id: 1, isAccepted: true))
        #expect(questions.isDue)
        let second = questions.show(now: .seconds(4))
        #expect(second?.contains("Bob") == true)
        let nonsense = questions.typed("x", now: .seconds(5))
        #expect(nonsense == second.map { .say($0) })
        let last = questions.typed("always", now: .seconds(5))
        #expect(last == .answer(id: 2, .acceptAlways))
    }

    /// What is answered elsewhere, or by nobody, is not asked any more; what was typed for it does not count for the next.
    @Test func whatIsTypedTooLateIsForNobody() {
        var questions = Questions()
        for number in 1...3 { questions.take(knock(number)) }
        _ = questions.show(now: .seconds(1))
        questions.take(.answered(id: 2, isAccepted: false))
        #expect(questions.isOpen)
        questions.take(.answered(id: 1, isAccepted: false))
        #expect(!questions.isOpen)
        #expect(questions.typed("y", now: .seconds(30)) == nil)
        let text = questions.show(now: .seconds(31))
        #expect(text?.contains("192.0.2.3") == true)
        let early = questions.typed("y", now: .seconds(31.4))
        #expect(early == text.map { .say($0) })
        let answer = questions.typed("y", now: .seconds(32))
        #expect(answer == .answer(id: 3, .accept))
    }

    /// Whatever comes in whatever order: each answer is for the one whose question was shown last, and is still wanted.
    @Test func answersAreForWhoWasShown() throws {
        var random = SplitMix(seed: 23)
        for _ in 0..<200 {
            var (questions, waiting, shown) = (Questions(), [Int](), Int?.none)
            var (now, next) = (Instant.start, 1)
            for _ in 0..<60 {
                now = now + .milliseconds(Int.random(in: 1...1500, using: &random))
                switch Int.random(in: 0..<4, using: &random) {
                case 0:
                    questions.take(knock(next))
                    waiting.append(next)
                    next += 1
                case 1:
                    guard let id = waiting.randomElement(using: &random) else { continue }
                    questions.take(.answered(id: id, isAccepted: false))
                    waiting.removeAll { $0 == id }
                    if shown == id { shown = nil }
                case 2:
                    if questions.show(now: now) != nil { shown = waiting.first }
                default:
                    guard case .answer(let id, _) = questions.typed("n", now: now) else { continue }
                    #expect(id == shown && waiting.contains(id))
                    shown = nil
                }
            }
        }
    }

    /// The process that asks may take nothing for a while.
    @Test func noAnswerIsLostWhileQuestionsWait() {
        var untold: [Question] = []
        untold.addUntold(knock(1))
        untold.removeFirst()
        untold.addUntold(.answered(id: 1, isAccepted: false))
        for number in 2..<10_000 {
            untold.addUntold(knock(number))
            untold.addUntold(.answered(id: number, isAccepted: false))
        }
        untold.addUntold(knock(10_000))
        var told: [Question] = []
        while let question = untold.first {
            told.append(question)
            untold.removeFirst()
        }
        #expect(told == [.answered(id: 1, isAccepted: false), knock(10_000)])
    }

    /// What a viewer writes is text in a notification.
    @Test(arguments: [
        ("<b>Ann</b>", "&lt;b&gt;Ann&lt;/b&gt;"), ("a & b", "a &amp; b"), (#"\074i\076\n"#, "&#92;074i&#92;076&#92;n"),
        ("&lt;", "&amp;lt;"), ("--action=x", "--action=x"), ("\u{1B}[2J", "&#92;u{1B}[2J"),
    ])
    func notificationsHaveNoMarkup(name: String, shown: String) {
        let knock = Question.Knock(id: 3, name: name, note: "", address: "::1", key: nil)
        #expect(NotifySend.escaped(Notification.body(knock)) == "\"\(shown)\" from ::1\noriel accept 3")
    }
}
