import Glibc
import Posix

/// The two streams that a person or a script reads. Written at once, so that a pipe sees each line when it is due.
enum Console {
    /// A line of results, to standard output. Returns false when nobody reads it any more.
    @discardableResult
    static func print(_ text: String) -> Bool {
        do { try write(text + "\n", to: 1) } catch { return error.code != EPIPE }
        return true
    }

    /// A text that takes the place of the one printed before, on a terminal: moves to the top left corner and clears what is
    /// below (ECMA-48 §8.3.21, §8.3.39).
    static func redraw(_ text: String) -> String { isatty(1) == 1 ? "\u{1B}[H\u{1B}[J\(text)" : text }

    /// A line about what happens, to standard error. Lost while nobody takes it, as in a terminal stopped by Ctrl-S: what
    /// goes on meanwhile must not stop with it.
    static func note(_ sentence: String) {
        if isWritable(2) { try? write("oriel: \(sentence)\n", to: 2) }
    }
}
