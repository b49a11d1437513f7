import Glibc
package import Posix
import Synchronization
import Time

/// Files that a process reads again after it has given up files. A helper process reads them. It has access to their
/// folders and nothing else.
///
/// Such files are often renewed by replacing them, or a link, by another one.
package final class NamedFiles: Sendable {
    /// The helper process has ended. It cannot be started again: a process in its sandbox cannot start others.
    package struct End: Sendable {
        package let files: [String]
        package let sentence: String

        package init(files: [String], sentence: String) { (self.files, self.sentence) = (files, sentence) }
    }

    private struct State: ~Copyable {
        let questions: FileDescriptor
        let answers: FileDescriptor
        var number: UInt8 = 0
        var received: FileAnswers
        var hasEnded = false
    }

    private static let patience = Duration.seconds(1)

    private let end: End
    private let ended: @Sendable (End) -> Void
    private let state: Mutex<State>

    /// Starts the helper process, which ends with this process. Call it before the first thread starts.
    ///
    /// - Parameters:
    ///   - what: the name of the files for people, such as "the token".
    ///   - ended: called once if the helper has ended, on the thread of the next read.
    package convenience init(
        _ paths: [String],
        _ what: String,
        ended: @escaping @Sendable (End) -> Void = { Console.note($0.sentence) }
    ) throws(Failure) {
        do throws(SystemError) {
            let reader = try HelperProcess(["read", "--"] + paths, inheriting: ["LANG", "LC_ALL", "LD_LIBRARY_PATH"])
            try self.init(paths, what, asking: reader.input, answering: reader.output, ended: ended)
        } catch {
            throw Failure(.failed, "cannot start the process that reads \(what) (\(error.reason)): \(error.advice)")
        }
    }

    package init(
        _ paths: [String],
        _ what: String,
        asking questions: consuming FileDescriptor,
        answering answers: consuming FileDescriptor,
        ended: @escaping @Sendable (End) -> Void
    ) throws(SystemError) {
        for raw in [answers.raw, questions.raw] { try check("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) } }
        let sentence =
            "the process that reads \(what) again has ended: start Oriel again after a renewal"
        (end, self.ended) = (End(files: paths, sentence: sentence), ended)
        let received = FileAnswers(fileCount: paths.count)
        state = Mutex(State(questions: questions, answers: answers, received: received))
    }

    /// The bytes of each file, in the order of the paths; nil for one that cannot be read.
    ///
    /// - Returns: nil if no answer comes within a second, or the helper has ended.
    package func read() -> [[UInt8]?]? {
        let (files, isEnd) = state.withLock { state in
            if state.hasEnded { return (nil as [[UInt8]?]?, false) }
            return (Self.ask(&state), state.hasEnded)
        }
        if isEnd { ended(end) }
        return files
    }

    private static func ask(_ state: inout State) -> [[UInt8]?]? {
        let deadline: Instant = MonotonicClock.now() + patience
        state.number &+= 1
        do throws(SystemError) { try state.questions.writeAll([state.number]) } catch {
            state.hasEnded = error.code == EPIPE
            return nil
        }
        while true {
            // An answer to an earlier question came too late.
            while let answer = state.received.next() {
                if answer.number == state.number { return answer.files }
            }
            guard MonotonicClock.now() < deadline else { return nil }
            waitReadable(state.answers.raw, until: deadline)
            guard let bytes = read(from: state.answers.raw) else {
                state.hasEnded = true
                return nil
            }
            state.received.take(bytes)
        }
    }

    /// The received bytes, perhaps none; nil at the end.
    private static func read(from descriptor: Int32) -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
            guard let count = try? readAvailable(from: descriptor, into: buffer) else { return [] }
            return count == 0 ? nil : Array(buffer[..<count])
        }
    }
}
