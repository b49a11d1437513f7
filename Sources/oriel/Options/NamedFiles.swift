import ArgumentParser
import Glibc
import Posix
import Synchronization
import Time

/// Files that are read again while a process has given up files: by a process of its own, which has their folders and nothing else.
///
/// Such files are often renewed by putting another file, or another link, in the place of the first one.
final class NamedFiles: Sendable {
    private struct State: ~Copyable {
        let questions: FileDescriptor
        let answers: FileDescriptor
        /// Of the question that was asked last.
        var number: UInt8 = 0
        var received: FileAnswers
    }

    /// How long the files may take to be read.
    private static let patience = Duration.seconds(1)

    private let state: Mutex<State>

    /// Starts the process that reads, which ends with this one. Call it before the first thread starts.
    ///
    /// - Parameter what: the files, for people.
    init(_ paths: [String], _ what: String) throws(Failure) {
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
            try check("fcntl") { fcntl(answers.raw, F_SETFL, O_NONBLOCK) }
            try check("fcntl") { fcntl(questions.raw, F_SETFL, O_NONBLOCK) }
            let received = FileAnswers(fileCount: paths.count)
            state = Mutex(State(questions: questions, answers: answers, received: received))
        } catch {
            throw Failure(.failed, "cannot start what reads \(what) (\(error.reason)): \(error.advice)")
        }
    }

    /// The bytes of each file, in the order of the paths; nil for one that cannot be read.
    ///
    /// - Returns: nil if no answer comes within a second.
    func read() -> [[UInt8]?]? {
        state.withLock { state in
            let deadline: Instant = MonotonicClock.now() + Self.patience
            state.number &+= 1
            guard (try? state.questions.writeAll([state.number])) != nil else { return nil }
            while true {
                // One to an earlier question came too late.
                while let answer = state.received.next() { if answer.number == state.number { return answer.files } }
                guard MonotonicClock.now() < deadline else { return nil }
                waitReadable(state.answers.raw, until: deadline)
                guard let bytes = Self.read(from: state.answers.raw) else { return nil }
                state.received.take(bytes)
            }
        }
    }

    /// What there is; nil at the end.
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
