import Glibc
import Posix
import Time

/// The file of `--stats`: one JSON object a line, about one line a second.
final class StatisticsFile {
    private let file: FileDescriptor
    private let start: Instant = MonotonicClock.now()
    private var last: Instant

    /// Begins to append to a file.
    init(path: String) throws {
        do { file = try OutputFile.open(path, O_APPEND) } catch { throw OutputFile.failure(path, error.reason) }
        last = start
    }

    /// Appends what `line` returns. A full disk loses the line and nothing else.
    ///
    /// - Parameter line: gets the seconds since the beginning and since the line before.
    func append(_ line: (_ time: Double, _ elapsed: Double) -> some Encodable) {
        let now: Instant = MonotonicClock.now()
        let elapsed = max(milliseconds(now - last) / 1000, 0.001)
        last = now
        guard let text = try? json(line(milliseconds(now - start) / 1000, elapsed)) else { return }
        try? file.write(text + "\n")
    }
}
