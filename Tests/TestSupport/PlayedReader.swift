import Glibc
package import Helpers
import Posix
import Synchronization

/// A process that reads files, played by a test: it has answered beforehand.
package final class PlayedReader {
    package let files: NamedFiles
    private let told: Told
    private let (questions, answers): (Int32, Int32)
    private var number: UInt8 = 0
    private var isOpen = (questions: true, answers: true)

    private final class Told: Sendable {
        let ends = Mutex<[NamedFiles.End]>([])
    }

    package init(_ paths: [String], _ what: String = "the files") throws {
        signal(SIGPIPE, SIG_IGN)
        let (asking, answering) = (try openPipe(), try openPipe())
        (questions, answers) = (asking.reading, answering.writing)
        let told = Told()
        self.told = told
        files = try NamedFiles(
            paths,
            what,
            asking: FileDescriptor(taking: asking.writing),
            answering: FileDescriptor(taking: answering.reading)
        ) { end in
            told.ends.withLock { $0.append(end) }
        }
    }

    deinit {
        stopReading()
        stopAnswering()
    }

    /// How often its end was told, and of which files.
    package var ends: [NamedFiles.End] { told.ends.withLock(\.self) }

    /// Answers the next question.
    package func answer(_ contents: [[UInt8]?]) throws {
        number += 1
        let bytes = FileAnswers.bytes(number, contents)
        try check("write") { write(answers, bytes, bytes.count) }
    }

    package func answer(_ contents: [String?]) throws { try answer(contents.map { $0.map { Array($0.utf8) } }) }

    package func stopReading() {
        if isOpen.questions { close(questions) }
        isOpen.questions = false
    }

    package func stopAnswering() {
        if isOpen.answers { close(answers) }
        isOpen.answers = false
    }
}
