import Glibc
import JSON
import Posix
import Synchronization

/// Standard output and standard error. Nothing is buffered, so that a pipe gets each line when it is printed.
///
/// Lines may hold text that others chose, such as the title of a window. Control characters are spelt out, so that a terminal
/// shows them and does not obey them.
package enum Console {
    /// Whether the last line of the terminal shows a progress, and no end of a line.
    private static let showsProgress = Mutex(false)
    /// Moves to the beginning of the line, and clears it (ECMA-48 §8.3.15, §8.3.41).
    private static let clearedLine = "\r\u{1B}[K"

    /// Whether there is a terminal for `progress`.
    package static var hasTerminal: Bool { isatty(2) == 1 }

    /// Shows on a terminal how far something is, in the place of what it showed last.
    package static func progress(_ text: String) {
        guard isWritable(2) else { return }
        showsProgress.withLock { $0 = true }
        try? write(clearedLine + text.spellingOutControls(), to: 2)
    }

    /// What comes before another line.
    private static func endOfProgress() -> String {
        showsProgress.withLock { isShown in
            defer { isShown = false }
            return isShown ? clearedLine : ""
        }
    }

    /// Prints lines of results to standard output. Returns false when nobody reads it any more.
    ///
    /// - Parameter redrawing: on a terminal, in the place of those printed before: moves to the top left corner and clears what
    ///   is below (ECMA-48 §8.3.21, §8.3.39).
    @discardableResult
    package static func print(_ lines: [String], redrawing: Bool = false) -> Bool {
        let start = redrawing && isShown ? "\u{1B}[H\u{1B}[J" : ""
        try? write(endOfProgress(), to: 2)
        return emit(start + lines.map { $0.spellingOutControls() + "\n" }.joined())
    }

    /// Whether standard output is shown to a person at once.
    package static var isShown: Bool { isatty(1) == 1 }

    /// Prints a text for programs, such as JSON, unchanged. Returns false when nobody reads it any more.
    @discardableResult
    package static func emit(_ text: String) -> Bool {
        do { try write(text, to: 1) } catch { return error.code != EPIPE }
        return true
    }

    /// Writes a line about what happens to standard error. The line is lost while nobody takes it, as in a terminal stopped by
    /// Ctrl-S: the broadcast must not wait for the terminal.
    package static func note(_ sentence: String) {
        if isWritable(2) { try? write("\(endOfProgress())oriel: \(sentence.spellingOutControls())\n", to: 2) }
    }

    /// Writes results to standard output, as far as it takes them without delay, and removes these from `bytes`. When nobody
    /// will read them any more, all are removed.
    package static func offer(_ bytes: inout [UInt8]) {
        while !bytes.isEmpty, isWritable(1) {
            // More might have to wait, as a terminal is writable as long as it takes a single byte.
            let count = bytes.prefix(512).withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
            if count < 0, errno == EAGAIN { return }
            bytes.removeFirst(count < 0 ? bytes.count : count)
        }
    }

    /// Passes on what another process, or a library, has written for people, with its line feeds.
    package static func relay(_ text: String, to descriptor: Int32) {
        try? write(text.spellingOutControls(except: "\n"), to: descriptor)
    }
}
