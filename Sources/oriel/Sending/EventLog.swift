import Calls
import Control
import Glibc
import JSON
import Media
import Posix

/// Tells what happens in the calls of a sender: people by sentences on standard error, and programs by the file of `--events`, a
/// JSON object a line. Any thread may tell.
final class EventLog: Sendable {
    /// A line of the file.
    private struct Line: Encodable {
        let time: String
        let event: CallEvent.Kind
        let call: String?
        let id: Int?
        let name: String?
        let note: String?
        let address: String?
        let codec: String?
        let reason: EndReason?
        let server: String?
        let state: String?
        let files: [String]?
        /// The sentence on standard error.
        let text: String?
    }

    /// Nil without `--events`.
    private let file: EventFile?

    init(path: String?) throws { file = try path.map { try EventFile(path: $0) } }

    /// Starts to write the file: call it once the sandbox is closed. What was told before is written then.
    func begin() throws { try file?.begin() }

    func tell(_ event: CallEvent) {
        if let sentence = event.sentence { Console.note(sentence) }
        guard let file, let kind = event.kind else { return }
        let line = Line(
            time: internetTime(nanosecondsSince1970: MonotonicClock.wallClock()),
            event: kind,
            call: event.call,
            id: event.id,
            name: event.name,
            note: event.note,
            address: event.address,
            codec: event.codec?.rawValue.lowercased(),
            reason: event.reason,
            server: event.server,
            state: event.condition?.rawValue ?? event.microphone?.rawValue ?? event.serverState?.rawValue,
            files: event.files,
            text: event.sentence
        )
        if let line = try? line.printableJSONLine() { file.append(line) }
    }

    /// Waits until all is written, unless that takes long.
    func close() { file?.close() }
}
