import Helpers
import Posix
import Synchronization

/// Where a session description goes.
package enum SessionDescriptionFile {
    /// - Parameter path: nil for standard output.
    package static func write(_ description: String, to path: String?) throws {
        guard let path else {
            Console.emit(description + "\n")
            return
        }
        try OutputFile.replace(path) { file in try file.write(description) }
        Console.note("watch it with: ffplay -protocol_whitelist file,udp,rtp -flags low_delay -fpsprobesize 0 \(path)")
    }
}

/// Writes the SDP from a thread that started before the sandbox. Landlock does not bind it, so the file may lie anywhere; the filter of
/// system calls does.
final class SDPPublisher: Sendable {
    private let text = Mutex<String?>(nil)
    private let failure = Mutex<(any Error)?>(nil)
    private let isThere: EventSignal
    private let thread = Mutex<Thread?>(nil)

    /// - Parameter path: of the file; nil for standard output.
    init(path: String?) throws {
        isThere = try EventSignal()
        try thread.withLock { thread in
            thread = try Thread { [self] in
                waitReadable(isThere.raw, until: nil)
                guard let text = text.withLock({ $0 }) else { return }
                do { try SessionDescriptionFile.write(text, to: path) } catch { failure.withLock { $0 = error } }
            }
        }
    }

    /// Waits until the text is written. Call it once.
    func publish(_ text: String) throws {
        self.text.withLock { $0 = text }
        isThere.set()
        thread.withLock { $0.take() }?.join()
        if let error = failure.withLock({ $0 }) { throw error }
    }
}
