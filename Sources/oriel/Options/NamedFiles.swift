import ArgumentParser
import Glibc
import Posix
import Synchronization
import Time

/// Files that a process reads again after it has given up files. Another process reads them, which has their folders and nothing else.
///
/// Such files are often renewed by putting another file, or another link, in the place of the first one.
final class NamedFiles: Sendable {
    /// The process that reads them has ended. It cannot be started again, as a process in its sandbox starts no others.
    struct End: Sendable {
        /// The paths of the files.
        let files: [String]
        /// The sentence for people.
        let sentence: String
    }

    private struct State: ~Copyable {
        let questions: FileDescriptor
        let answers: FileDescriptor
        /// The number of the last question.
        var number: UInt8 = 0
        var received: FileAnswers
        var hasEnded = false
    }

    private enum Answer {
        case files([[UInt8]?])
        case late, ended
    }

    /// How long the files may take to be read.
    private static let patience = Duration.seconds(1)

    private let end: End
    private let ended: @Sendable (End) -> Void
    private let state: Mutex<State>

    /// Starts the process that reads, which ends with this one. Call it before the first thread starts.
    ///
    /// - Parameters:
    ///   - what: the name of the files for people, such as "the token".
    ///   - ended: is called once if that process has ended, on the thread that wants to read next.
    convenience init(
        _ paths: [String],
        _ what: String,
        ended: @escaping @Sendable (End) -> Void = { Console.note($0.sentence) }
    ) throws(Failure) {
        do throws(SystemError) {
            let asking = try openPipe()
            let input = FileDescriptor(taking: asking.reading)
            let questions = FileDescriptor(taking: asking.writing)
            let answering = try openPipe()
            let answers = FileDescriptor(taking: answering.reading)
            let output = FileDescriptor(taking: answering.writing)
            _ = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", "read", "--"] + paths,
                inheriting: ["LANG", "LC_ALL", "LD_LIBRARY_PATH"],
                descriptors: [input.raw, output.raw, 2],
                tie: .child
            )
            try self.init(paths, what, asking: questions, answering: answers, ended: ended)
        } catch {
            throw Failure(.failed, "cannot start the process that reads \(what) (\(error.reason)): \(error.advice)")
        }
    }

    /// - Parameters:
    ///   - questions: the pipe to the process that reads.
    ///   - answers: the pipe from it.
    init(
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
    /// - Returns: nil if no answer comes within a second, or the process that reads has ended.
    func read() -> [[UInt8]?]? {
        let answer = state.withLock { state -> Answer in
            guard !state.hasEnded else { return .late }
            let answer = Self.ask(&state)
            if case .ended = answer { state.hasEnded = true }
            return answer
        }
        switch answer {
        case .files(let files): return files
        case .late: return nil
        case .ended:
            ended(end)
            return nil
        }
    }

    private static func ask(_ state: inout State) -> Answer {
        let deadline: Instant = MonotonicClock.now() + patience
        state.number &+= 1
        do throws(SystemError) { try state.questions.writeAll([state.number]) } catch {
            return error.code == EPIPE ? .ended : .late
        }
        while true {
            // One to an earlier question came too late.
            while let answer = state.received.next() {
                if answer.number == state.number { return .files(answer.files) }
            }
            guard MonotonicClock.now() < deadline else { return .late }
            waitReadable(state.answers.raw, until: deadline)
            guard let bytes = read(from: state.answers.raw) else { return .ended }
            state.received.take(bytes)
        }
    }

    /// The bytes that have come, which may be none; nil at the end.
    private static func read(from descriptor: Int32) -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
            guard let count = try? readAvailable(from: descriptor, into: buffer) else { return [] }
            return count == 0 ? nil : Array(buffer[..<count])
        }
    }
}

/// Answers as they come by a pipe: the number of the question in a byte, and for each file its length in four bytes, the lowest first,
/// before its content. All bits of the length are set for a file that cannot be read. Sans-IO.
struct FileAnswers {
    private static let missing = UInt32.max

    private let fileCount: Int
    private var bytes: [UInt8] = []

    init(fileCount: Int) { self.fileCount = fileCount }

    mutating func take(_ more: [UInt8]) { bytes += more }

    /// Takes the first answer; nil if it is yet to come.
    mutating func next() -> (number: UInt8, files: [[UInt8]?])? {
        guard let number = bytes.first else { return nil }
        var rest = bytes.dropFirst()
        var files: [[UInt8]?] = []
        for _ in 0..<fileCount {
            guard rest.count >= 4 else { return nil }
            let length = rest.prefix(4).reversed().reduce(0 as UInt32) { $0 << 8 | UInt32($1) }
            rest = rest.dropFirst(4)
            if length == Self.missing {
                files.append(nil)
            } else {
                guard rest.count >= Int(length) else { return nil }
                files.append(Array(rest.prefix(Int(length))))
                rest = rest.dropFirst(Int(length))
            }
        }
        bytes = Array(rest)
        return (number, files)
    }

    static func bytes(_ number: UInt8, _ files: [[UInt8]?]) -> [UInt8] {
        var bytes = [number]
        for file in files {
            let length = file.map { UInt32($0.count) } ?? missing
            bytes += (0..<4).map { UInt8(truncatingIfNeeded: length >> ($0 * 8)) } + (file ?? [])
        }
        return bytes
    }
}

/// Reads files each time that it gets a byte, and writes them as `FileAnswers`. It ends with standard input.
struct FileReader: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "read",
        abstract: "Read files whenever asked.",
        shouldDisplay: false
    )

    /// Bytes of a file that is read.
    private static let longest = 256 * 1024

    @Argument var paths: [String]

    func run() throws {
        // What a name leads to may change; where its link leads to now is read too.
        let names = paths + paths.compactMap { path in realpath(path, nil).map { String(taking: $0) } }
        let folders = names.map(Self.folder).filter { access($0, F_OK) == 0 }
        let sandbox = Sandbox(writable: nil, readable: folders, socketFamilies: [])
        // The process that started it says what the kernel does not offer.
        try enterSandbox { _ throws(SystemError) in try sandbox.enter { _ in } }
        let output = FileDescriptor(taking: 1)
        var number: UInt8 = 0
        while read(0, &number, 1) == 1 {
            let answer = FileAnswers.bytes(number, paths.map(Self.content))
            guard (try? output.writeAll(answer)) != nil else { return }
        }
    }

    /// Nil where it cannot be read, or is too long.
    static func content(of path: String) -> [UInt8]? {
        guard let descriptor = try? check("open", { open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK) }) else { return nil }
        let bytes = try? FileDescriptor(taking: descriptor).readBytes(longest + 1)
        return bytes.flatMap { $0.count <= longest ? $0 : nil }
    }

    private static func folder(of path: String) -> String {
        guard let slash = path.lastIndex(of: "/") else { return "." }
        return slash == path.startIndex ? "/" : String(path[..<slash])
    }
}

extension String {
    /// A string of C that is this one's to free.
    fileprivate init(taking text: UnsafeMutablePointer<CChar>) {
        self.init(cString: text)
        free(text)
    }
}
