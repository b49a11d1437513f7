import Glibc
import Helpers
import Posix
import Synchronization
import Time

/// The file of `--events`. A thread of its own writes it: a disk that is slow or full, or a pipe that nobody reads, holds up
/// nobody.
final class EventFile: Sendable {
    private struct State {
        var lines: [String] = []
        var isClosed = false
        var hasEnded = false
    }

    /// Lines that wait to be written; more are lost.
    private static let mostLines = 1000
    /// How long the last lines may take to be written.
    private static let patience = Duration.milliseconds(500)

    private let file: FileDescriptor
    private let state = Mutex(State())
    private let bell = Bell()
    private let ended = Bell()

    /// Opens the file, or makes it, to append to it. A named pipe needs no reader: what comes waits for one, as far as there is
    /// room.
    init(path: String) throws {
        do throws(SystemError) {
            var info = stat()
            let isPipe = stat(path, &info) == 0 && info.st_mode & S_IFMT == S_IFIFO
            file =
                try isPipe
                ? FileDescriptor(taking: check("open") { open(path, O_RDWR | O_CLOEXEC) })
                : OutputFile.open(path, O_APPEND)
        } catch {
            throw OutputFile.failure(path, error.reason)
        }
    }

    /// Starts the thread. Nobody joins it, as it may wait for a reader for ever.
    func begin() throws(SystemError) { _ = try Thread { [self] in run() } }

    /// Appends a line, which comes without its end.
    func append(_ line: String) {
        state.withLock { if $0.lines.count < Self.mostLines { $0.lines.append(line) } }
        bell.ring()
    }

    /// Waits until all is written, unless that takes long.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
        ended.wait(until: MonotonicClock.now() + Self.patience) { state.withLock(\.hasEnded) }
    }

    // MARK: - The thread

    private func run() {
        var isCut = false
        while true {
            let rings = bell.count
            let (lines, isClosed) = state.withLock { state in
                defer { state.lines = [] }
                return (state.lines, state.isClosed)
            }
            if lines.isEmpty, isClosed { break }
            if lines.isEmpty { bell.wait(while: rings) }
            for line in lines { isCut = write(line, afterCut: isCut) }
        }
        state.withLock { $0.hasEnded = true }
        ended.ring()
    }

    /// Writes a line. What a full disk does not take is lost.
    ///
    /// - Parameter isCut: whether the file ends with a part of a line.
    /// - Returns: whether it does now.
    private func write(_ line: String, afterCut isCut: Bool) -> Bool {
        var bytes = Array("\(isCut ? "\n" : "")\(line)\n".utf8)[...]
        let whole = bytes.count
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(file.raw, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return isCut || bytes.count < whole }
            bytes = bytes.dropFirst(max(0, count))
        }
        return false
    }
}
