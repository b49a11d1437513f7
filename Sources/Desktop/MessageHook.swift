package import Control
import Glibc
import Helpers
import JSON
import Posix
import Synchronization

/// The process that runs a program of the person who shares for messages. It is not confined, as nobody knows what that program needs; it gets
/// nothing but messages that are checked here and there.
package final class MessageHook: Sendable {
    private static let longestLine = 65_536

    private struct Line: Codable {
        let text: String
        let parameters: [String: String]
        let sender: String
    }

    private let input: FileDescriptor
    /// Of a line that was taken in part.
    private let rest = Mutex<[UInt8]>([])

    /// Starts the process, before this one gives that up. It ends with this one.
    ///
    /// - Parameter seconds: after which the program is ended.
    package init(_ program: String, seconds: Int = 60) throws {
        do throws(SystemError) {
            input = try HelperProcess.silent(["hook", "--seconds=\(seconds)", "--", program], inheriting: nil)
            let raw = input.raw
            try check("fcntl") { fcntl(raw, F_SETFL, O_NONBLOCK) }
        } catch {
            throw Failure(.failed, "cannot start the process that runs \(program) (\(error.reason)): \(error.advice)")
        }
    }

    /// Has the program run with a message. Returns nil if the process gets it.
    package func run(_ message: ServiceMessage, from sender: String) -> CommandRefusal? {
        let line = Line(text: message.text, parameters: message.parameters, sender: sender)
        // Texts can always be encoded.
        let bytes = Array("\(try! line.jsonLine())\n".utf8)
        return rest.withLock { rest in
            var isThere = write(&rest)
            guard isThere, rest.isEmpty else { return Self.refusal(isThere: isThere) }
            rest = bytes
            isThere = write(&rest)
            return isThere ? nil : Self.refusal(isThere: false)
        }
    }

    private static func refusal(isThere: Bool) -> CommandRefusal {
        isThere
            ? CommandRefusal("busy", "too many messages come")
            : CommandRefusal("ended", "the process that runs the program has ended")
    }

    /// Returns false if the other process has ended.
    private func write(_ bytes: inout [UInt8]) -> Bool {
        if bytes.isEmpty { return true }
        let count = bytes.withUnsafeBytes { Glibc.write(input.raw, $0.baseAddress, $0.count) }
        if count > 0 { bytes.removeFirst(count) }
        return count >= 0 || errno == EAGAIN
    }

    /// Runs the process. Messages come from standard input, and it ends with that.
    package static func serve(_ program: String, seconds: Int) throws {
        let signals = try TerminationSignals()
        var lines = LineReader(longest: longestLine)
        var hook = HookProgram(program, seconds: seconds)
        try check("fcntl") { fcntl(0, F_SETFL, O_NONBLOCK) }
        while !signals.take(), !lines.hasEnded, !lines.isTooLong {
            waitReadable(0, signals.descriptor.raw, until: nil)
            guard let messages = try? lines.read(from: 0, limit: longestLine) else { break }
            for line in messages.compactMap({ try? Line(jsonLine: $0) }) {
                guard let message = ServiceMessage(line.text, line.parameters) else { continue }
                let sender = String(line.sender.unicodeScalars.prefix(200)).spellingOutControls()
                let parameters = message.parameters.sorted { $0.key < $1.key }.map { "\($0.key)=\($0.value)" }
                hook.run([message.text] + parameters, environment: ["ORIEL_SENDER": sender])
            }
        }
    }
}
