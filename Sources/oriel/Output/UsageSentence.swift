import ArgumentParser

/// What is wrong with a command line, in one sentence that ends with where its help is. The parser's own text takes five lines.
struct UsageSentence {
    let text: String

    /// - Parameters:
    ///   - error: a usage error, of the parser or of a command's `run`.
    ///   - command: the one that runs; `Oriel` as long as none does.
    ///   - arguments: of this program.
    init(_ error: any Error, of command: any ParsableCommand.Type, arguments: [String]) {
        var words = Self.reason(in: command.message(for: error))
            .replacing(". Please provide one of", with: ": give one of")
            .replacing("\n  - ", with: " ")
        Self.dropFarProposal(&words)
        if words.last == "." { words.removeLast() }
        let help = Self.command(in: command.fullMessage(for: error)).map { " (see \"\($0)\")" } ?? ""
        text = (words.prefix(1).lowercased() + words.dropFirst() + help).withoutMediaServers(of: arguments)
    }

    /// Without the parser's frame, `The value '…' is invalid for '--option <value>': `, where a reason follows: that says what is wrong
    /// by itself, and the value may be a secret.
    private static func reason(in words: String) -> String {
        guard words.hasPrefix("The value '"), let middle = words.firstRange(of: "' is invalid for '"),
            let end = words[middle.upperBound...].firstRange(of: "': ")
        else { return words }
        let name = words[middle.upperBound..<end.lowerBound].prefix { $0 != " " }
        let reason = words[end.upperBound...]
        return name.hasPrefix("-") ? "\(name): \(reason)" : String(reason)
    }

    /// The parser proposes any option that differs by three letters, such as "--dir" for "--foo": only one that begins alike is of help.
    private static func dropFarProposal(_ words: inout String) {
        guard let question = words.firstRange(of: ". Did you mean '") else { return }
        let option = words[..<question.lowerBound].split(separator: "'").last ?? ""
        let proposal = words[question.upperBound...]
        if option.prefix(3) == proposal.prefix(3) {
            words.replaceSubrange(question, with: ": did you mean '")
        } else {
            words.removeSubrange(question.lowerBound...)
        }
    }

    /// What shows the help of a command, as in `oriel help attach`; nil if the full text of the error names none.
    private static func command(in fullMessage: String) -> String? {
        guard let start = fullMessage.firstRange(of: "\n  See '"),
            let end = fullMessage[start.upperBound...].firstRange(of: " --help'")
        else { return nil }
        let words = fullMessage[start.upperBound..<end.lowerBound].split(separator: " ").filter { $0 != "oriel" }
        return (["oriel", "help"] + words).joined(separator: " ")
    }
}

extension String {
    /// Without the addresses of media servers that stand on the command line, as they may hold secrets.
    fileprivate func withoutMediaServers(of arguments: [String]) -> String {
        arguments.reduce(self) { text, argument in
            let words = argument.hasPrefix("--also=") ? String(argument.dropFirst("--also=".count)) : argument
            return words.lowercased().hasPrefix("whip+") ? text.replacing(words, with: "whip+…") : text
        }
    }
}
