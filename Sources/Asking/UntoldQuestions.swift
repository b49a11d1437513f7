/// Questions that the process which asks has not taken yet. There are no more than knocks wait: one that is answered before it was told
/// is told neither.
struct UntoldQuestions {
    private var questions: [Question] = []

    var first: Question? { questions.first }

    mutating func add(_ question: Question) {
        guard case .answered(let id, _) = question,
            let index = questions.firstIndex(where: {
                if case .knocked(let knock) = $0 { knock.id == id } else { false }
            })
        else { return questions.append(question) }
        questions.remove(at: index)
    }

    mutating func removeFirst() { questions.removeFirst() }
}
