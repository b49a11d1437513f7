import Glibc
import Posix
import Synchronization
import Time

/// The authority file of the X server (Xsecurity(7)), as it is now.
///
/// A capture process reads no files of its user, and an X server that comes back often has another file in the place of the first one. So
/// another process reads it (`AuthorityReader`). Its answer lies in memory, to which `XAUTHORITY` leads libxcb.
final class XAuthority: Sendable {
    private struct State: ~Copyable {
        let questions: FileDescriptor
        let answers: FileDescriptor
        let memory: FileDescriptor
        /// What lies in the memory.
        var bytes: [UInt8]
        /// Whether that was read for a connection that is yet to come.
        var isNew = true
    }

    /// How long the file may take to be read.
    private static let patience = Duration.seconds(1)

    private let state: Mutex<State>

    /// Reads the file, and starts the process that reads it again, which ends with this one. From then on, `XAUTHORITY` of this process
    /// leads to what was read.
    ///
    /// - Returns: nil where no variable says where the file is.
    init?() throws {
        func variable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }
        guard let path = variable("XAUTHORITY") ?? variable("HOME").map({ "\($0)/.Xauthority" }) else { return nil }
        do throws(SystemError) {
            let asking = try openPipe()
            let input = FileDescriptor(taking: asking.reading)
            let questions = FileDescriptor(taking: asking.writing)
            let answering = try openPipe()
            let answers = FileDescriptor(taking: answering.reading)
            let output = FileDescriptor(taking: answering.writing)
            _ = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", "authority", "--", path],
                inheriting: ["LANG", "LC_ALL", "LD_LIBRARY_PATH"],
                descriptors: [input.raw, output.raw, 2],
                tie: .child
            )
            for raw in [questions.raw, answers.raw] { try check("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) } }
            let memory = try FileDescriptor.memory("oriel-authority")
            let bytes = AuthorityReader.contents(of: path)
            try memory.write(bytes, at: 0)
            setenv("XAUTHORITY", "/proc/self/fd/\(memory.raw)", 1)
            state = Mutex(State(questions: questions, answers: answers, memory: memory, bytes: bytes))
        } catch {
            throw Failure(
                .failed,
                "cannot start the process that reads the X server's authority file (\(error.reason)): \(error.advice)"
            )
        }
    }

    /// Has the next connection find what stands in the file now, or stood there when it could be read last.
    func renew() {
        state.withLock { state in
            if state.isNew { return state.isNew = false }
            let answer = Self.ask(state.questions, state.answers)
            guard let answer, !answer.isEmpty, answer != state.bytes else { return }
            guard ftruncate(state.memory.raw, 0) == 0, (try? state.memory.write(answer, at: 0)) != nil else { return }
            state.bytes = answer
        }
    }

    /// The answer of the other process: a number of four bytes, and as many bytes of the file.
    ///
    /// - Returns: nil where none comes in time.
    private static func ask(
        _ questions: borrowing FileDescriptor,
        _ answers: borrowing FileDescriptor
    ) -> [UInt8]? {
        let deadline: Instant = MonotonicClock.now() + patience
        // An answer that came too late.
        while let late = read(from: answers.raw), !late.isEmpty {}
        guard (try? write("\n", to: questions.raw)) != nil else { return nil }
        var bytes: [UInt8] = []
        while MonotonicClock.now() < deadline {
            waitReadable(answers.raw, until: deadline)
            guard let more = read(from: answers.raw) else { return nil }
            bytes += more
            guard bytes.count >= 4 else { continue }
            let length = bytes[..<4].reduce(0) { $0 << 8 | Int($1) }
            guard length <= AuthorityReader.longest else { return nil }
            if bytes.count == 4 + length { return Array(bytes[4...]) }
        }
        return nil
    }

    /// What there is; nil at the end.
    private static func read(from descriptor: Int32) -> [UInt8]? {
        withUnsafeTemporaryAllocation(byteCount: 65_536, alignment: 8) { buffer in
            guard let count = try? readAvailable(from: descriptor, into: buffer) else { return [] }
            return count == 0 ? nil : Array(buffer[..<count])
        }
    }
}
