import ArgumentParser
import Glibc
import Posix
import Synchronization
import Time

/// The bearer token of a WHIP server, as its file has it now.
///
/// A sender opens no files once it is in its sandbox, and a token is often renewed by putting another file in the place of the first
/// one. So a process of its own reads it, which has that folder and nothing else.
final class WHIPToken: Sendable {
    private struct State: ~Copyable {
        let questions: FileDescriptor
        let answers: FileDescriptor
        /// What was read last.
        var token: String?
    }

    /// How long the file may take to be read.
    private static let patience = Duration.seconds(1)

    private let state: Mutex<State>

    /// Starts the reader, which ends with this process.
    ///
    /// - Parameter token: what stands in the file now.
    init(in path: String, now token: String?) throws {
        do throws(SystemError) {
            let asking = try openPipe()
            let input = FileDescriptor(taking: asking.reading)
            let questions = FileDescriptor(taking: asking.writing)
            let answering = try openPipe()
            let answers = FileDescriptor(taking: answering.reading)
            let output = FileDescriptor(taking: answering.writing)
            _ = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", "token", "--", path],
                inheriting: ["LANG", "LC_ALL", "LD_LIBRARY_PATH"],
                descriptors: [input.raw, output.raw, 2],
                tie: .child
            )
            try check("fcntl") { fcntl(answers.raw, F_SETFL, O_NONBLOCK) }
            try check("fcntl") { fcntl(questions.raw, F_SETFL, O_NONBLOCK) }
            state = Mutex(State(questions: questions, answers: answers, token: token))
        } catch {
            throw Failure(.failed, "cannot start what reads the token (\(error.reason)): \(error.advice)")
        }
    }

    /// What stands in the file now, or stood there when it could be read last.
    func current() -> String? {
        state.withLock { state in
            let deadline: Instant = MonotonicClock.now() + Self.patience
            // An answer that came too late.
            _ = Self.read(from: state.answers.raw)
            guard (try? write("\n", to: state.questions.raw)) != nil else { return state.token }
            var line: [UInt8] = []
            while line.last != UInt8(ascii: "\n"), MonotonicClock.now() < deadline {
                waitReadable(state.answers.raw, until: deadline)
                guard let bytes = Self.read(from: state.answers.raw) else { return state.token }
                line += bytes
            }
            let token = String(decoding: line.dropLast(), as: UTF8.self)
            if line.last == UInt8(ascii: "\n"), !token.isEmpty { state.token = token }
            return state.token
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

/// Reads a token each time that it gets a byte, and writes it as a line, which is empty if there is none. It ends with standard input.
struct TokenReader: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "token",
        abstract: "Read a token whenever asked.",
        shouldDisplay: false
    )

    @Argument var path: String

    func run() throws {
        // What a name leads to may change; where its link leads to now is read too.
        let folders = [path] + (realpath(path, nil).map { [String(taking: $0)] } ?? [])
        let sandbox = Sandbox(writable: nil, readable: folders.map(Self.folder), socketFamilies: [])
        try enterSandbox(by: sandbox.enter)
        var byte: UInt8 = 0
        while read(0, &byte, 1) == 1 {
            let token = try? JoinedCallOptions.token(in: path)
            guard (try? write((token ?? "") + "\n", to: 1)) != nil else { return }
        }
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
