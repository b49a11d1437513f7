import Glibc
import Helpers
import JSON
package import Posix
import Synchronization
import Time

/// Tells what happens in the calls of a sender: people by sentences on standard error, and programs by the file of `--events`, a
/// JSON object a line. Any thread may tell. A thread of its own writes the file: a disk that is slow or full, or a pipe that nobody
/// reads, holds up nobody.
package final class EventLog: Sendable {
    private struct State {
        var lines: [String] = []
        var isClosed = false
        var hasEnded = false
    }

    /// Lines that wait to be written; more are lost.
    private static let mostLines = 1000
    /// How long the last lines may take to be written.
    private static let patience = Duration.milliseconds(500)

    /// Nil without `--events`.
    private let file: FileDescriptor?
    private let state = Mutex(State())
    private let bell = Bell()
    private let ended = Bell()

    /// Opens the file, or makes it, to append to it. A named pipe needs no reader: what comes waits for one, as far as there is
    /// room.
    package init(path: String?) throws {
        guard let path else {
            file = nil
            return
        }
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

    private var raw: Int32? {
        switch file {
        case .some(let file): file.raw
        case .none: nil
        }
    }

    /// Starts to write the file: call it once the sandbox is closed. What was told before is written then. Nobody joins the thread, as
    /// it may wait for a reader for ever.
    package func begin() throws(SystemError) {
        guard let raw else { return }
        _ = try Thread { [self] in run(raw) }
    }

    package func tell(_ event: CallEvent) {
        if let sentence = event.sentence { Console.note(sentence) }
        guard raw != nil, event.kind != nil else { return }
        var line = event
        line.time = internetTime(nanosecondsSince1970: MonotonicClock.wallClock())
        guard let line = try? line.printableJSONLine() else { return }
        state.withLock { if $0.lines.count < Self.mostLines { $0.lines.append(line) } }
        bell.ring()
    }

    /// Waits until all is written, unless that takes long.
    package func close() {
        if raw == nil { return }
        state.withLock { $0.isClosed = true }
        bell.ring()
        ended.wait(until: MonotonicClock.now() + Self.patience) { state.withLock(\.hasEnded) }
    }

    // MARK: - The thread

    private func run(_ file: Int32) {
        var isCut = false
        while true {
            let rings = bell.count
            let (lines, isClosed) = state.withLock { state in
                defer { state.lines = [] }
                return (state.lines, state.isClosed)
            }
            if lines.isEmpty, isClosed { break }
            if lines.isEmpty { bell.wait(while: rings) }
            for line in lines { isCut = write(line, to: file, afterCut: isCut) }
        }
        state.withLock { $0.hasEnded = true }
        ended.ring()
    }

    /// Writes a line. What a full disk does not take is lost.
    ///
    /// - Parameter isCut: whether the file ends with a part of a line.
    /// - Returns: whether it does now.
    private func write(_ line: String, to file: Int32, afterCut isCut: Bool) -> Bool {
        var bytes = Array("\(isCut ? "\n" : "")\(line)\n".utf8)[...]
        let whole = bytes.count
        while !bytes.isEmpty {
            let count = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
            if count < 0, errno != EINTR { return isCut || bytes.count < whole }
            bytes = bytes.dropFirst(max(0, count))
        }
        return false
    }
}
