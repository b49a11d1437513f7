import Helpers
import JSON
import Posix

/// Tells what happens in the calls of a sender: people by sentences on standard error, and programs by the file of `--events`, a
/// JSON object a line. Any thread may tell.
package final class EventLog: Sendable {
    /// Nil without `--events`.
    private let file: EventFile?

    package init(path: String?) throws { file = try path.map { try EventFile(path: $0) } }

    /// Starts to write the file: call it once the sandbox is closed. What was told before is written then.
    package func begin() throws { try file?.begin() }

    package func tell(_ event: CallEvent) {
        if let sentence = event.sentence { Console.note(sentence) }
        guard let file, event.kind != nil else { return }
        var line = event
        line.time = internetTime(nanosecondsSince1970: MonotonicClock.wallClock())
        if let line = try? line.printableJSONLine() { file.append(line) }
    }

    /// Waits until all is written, unless that takes long.
    package func close() { file?.close() }
}
