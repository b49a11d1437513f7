/// Questions that the process which asks has not taken yet. There are no more than knocks wait: one that is answered before it was told
/// is told neither.
struct UntoldQuestions {
    private var questions: [Question] = []

    var first: Question? { questions.first }

    mutating func add(_ question: Question) {
        if case .answered(let id, _) = question, let index = questions.firstIndex(where: { $0.knock?.id == id }) {
            questions.remove(at: index)
        } else {
            questions.append(question)
        }
    }

    mutating func removeFirst() { questions.removeFirst() }
}

extension Question {
    fileprivate var knock: Knock? { if case .knocked(let knock) = self { knock } else { nil } }
}
