import Posix

/// The two streams that a person or a script reads. Written at once, so that a pipe sees each line when it is due.
enum Console {
    /// A line of results, to standard output.
    static func print(_ text: String) { try? write(text + "\n", to: 1) }

    /// A line about what happens, to standard error.
    static func note(_ sentence: String) { try? write("oriel: \(sentence)\n", to: 2) }
}
