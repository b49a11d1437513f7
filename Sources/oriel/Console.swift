import Glibc
import Posix

/// The two streams that a person or a script reads. Written at once, so that a pipe sees each line when it is due.
///
/// Lines may hold what others chose, such as the title of a window. A terminal shows them, and obeys nothing in them.
enum Console {
    /// Lines of results, to standard output. Returns false when nobody reads it any more.
    ///
    /// - Parameter redrawing: on a terminal, in the place of those printed before: moves to the top left corner and clears what
    ///   is below (ECMA-48 §8.3.21, §8.3.39).
    @discardableResult
    static func print(_ lines: [String], redrawing: Bool = false) -> Bool {
        let start = redrawing && isatty(1) == 1 ? "\u{1B}[H\u{1B}[J" : ""
        return emit(start + lines.map { $0.spellingOutControls() + "\n" }.joined())
    }

    /// A text for programs, such as JSON, as it stands. Returns false when nobody reads it any more.
    @discardableResult
    static func emit(_ text: String) -> Bool {
        do { try write(text, to: 1) } catch { return error.code != EPIPE }
        return true
    }

    /// A line about what happens, to standard error. Lost while nobody takes it, as in a terminal stopped by Ctrl-S: what
    /// goes on meanwhile must not stop with it.
    static func note(_ sentence: String) {
        if isWritable(2) { try? write("oriel: \(sentence.spellingOutControls())\n", to: 2) }
    }

    /// Results for standard output. What it takes without delay is written, and removed from `bytes`; also what nobody will
    /// read any more.
    static func offer(_ bytes: inout [UInt8]) {
        while !bytes.isEmpty, isWritable(1) {
            // More might have to wait, as a terminal is writable as long as it takes a single byte.
            let count = bytes.prefix(512).withUnsafeBytes { Glibc.write(1, $0.baseAddress, $0.count) }
            if count < 0, errno == EAGAIN { return }
            bytes.removeFirst(count < 0 ? bytes.count : count)
        }
    }

    /// What another process, or a library, has written for a person, lines and all.
    static func relay(_ text: String, to descriptor: Int32) {
        try? write(text.spellingOutControls(except: "\n"), to: descriptor)
    }
}
