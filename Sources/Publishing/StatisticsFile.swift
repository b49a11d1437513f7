import Control
import Glibc
import Helpers
import JSON
import Posix
import Time

/// The file of `--stats`: one JSON object a line, about one line a second.
package final class StatisticsFile {
    /// A figure of any type.
    private struct Figure: Encodable {
        let value: any Encodable

        func encode(to encoder: any Encoder) throws { try value.encode(to: encoder) }
    }

    private let file: FileDescriptor
    private let start: Instant = MonotonicClock.now()
    private var last: Instant

    /// Opens the file, or makes it, to append to it.
    package init(path: String) throws {
        do { file = try OutputFile.open(path, O_APPEND) } catch { throw OutputFile.failure(path, error.reason) }
        last = start
    }

    /// Appends one line with the given figures, and `time_s`, the seconds since the file was opened. If the disk is full, the
    /// line is lost and nothing else happens.
    ///
    /// - Parameter figures: gets the seconds since the line before, and returns the figures by their names.
    package func append(_ figures: (_ elapsed: Double) -> [String: any Encodable]) {
        let now: Instant = MonotonicClock.now()
        var line = figures(max(milliseconds(now - last) / 1000, 0.001))
        line["time_s"] = milliseconds(now - start) / 1000
        last = now
        guard let text = try? line.mapValues(Figure.init).printableJSONLine() else { return }
        try? file.write(text + "\n")
    }
}
