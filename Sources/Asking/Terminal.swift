import Glibc
import Helpers
import Posix

/// The terminal at which a person answers. Nothing is read in its background: that would stop this process, and take from
/// others what is meant for them.
final class Terminal {
    private static let longestLine = 4096

    private let descriptor: FileDescriptor
    private var lines = LineReader(longest: longestLine)
    private(set) var isOver = false

    /// Joins the process group that the terminal knows: that of the command which a person has started.
    ///
    /// - Returns: nil where there is no terminal.
    init?(ofGroup group: Int32) {
        // Reading in the background is then an error, and stops nobody.
        signal(SIGTTIN, SIG_IGN)
        guard setpgid(0, group) == 0 else { return nil }
        let raw = open("/dev/tty", O_RDONLY | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
        guard raw >= 0 else { return nil }
        descriptor = FileDescriptor(taking: raw)
    }

    var raw: Int32 { descriptor.raw }

    /// Whether what is typed is for this process.
    var isInForeground: Bool { !isOver && tcgetpgrp(raw) == getpgrp() }

    func forget() {
        lines.forget()
        tcflush(raw, TCIFLUSH)
    }

    func read() -> [String] {
        guard let typed = try? lines.read(from: raw) else {
            isOver = isInForeground
            return []
        }
        // Whoever types the end of input wants no more questions.
        isOver = lines.hasEnded
        if lines.isTooLong { lines.forget() }
        return typed
    }
}
