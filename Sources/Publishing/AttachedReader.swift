import FrameBridge
import Helpers
import Posix
import Time

enum AttachedReader {
    /// A reader of a broadcast that has a picture; nil when a signal came before there was one.
    ///
    /// - Parameter path: the broadcast's folder.
    static func open(
        _ path: String,
        waits: Bool,
        until signals: borrowing TerminationSignals
    ) throws -> FrameReader? {
        var waiting = Waiting()
        while !signals.take() {
            let obstacle: String
            do throws(BridgeError) {
                var reader = try FrameReader(directory: try BridgeDirectory(path: path, create: false))
                let liveness = try reader.liveness()
                let isLive = liveness != .stopped && liveness != .dead
                if isLive, case .frame = try reader.read({ _ in }) {
                    reader.forget()
                    return reader
                }
                obstacle = isLive ? "the broadcast in \(path) has no picture yet" : "no broadcast in \(path) yet"
            } catch .noBroadcast(let path) {
                obstacle = "no broadcast in \(path) yet"
            } catch .noAnswer(let path) {
                obstacle = "the capture process of \(path) does not answer"
            } catch {
                throw error
            }
            guard waits else {
                let advice = "start one with \"oriel share\" or \"oriel start\", or leave --no-wait out"
                throw Failure(.tryAgain, "\(obstacle): \(advice)")
            }
            if waiting.mustTell(of: obstacle, at: MonotonicClock.now()) {
                Console.note("\(obstacle): waiting for it (\"oriel start\")")
            }
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + .milliseconds(50))
        }
        return nil
    }

    /// Decides what a person is told while a sender waits. Sans-IO.
    struct Waiting {
        /// A broadcast that is started together with the sender is there before, unless the machine is busy.
        static let patience = Duration.seconds(2)

        private var obstacle: String?
        private var tellAt: Instant?

        /// Whether to tell of what is in the way: once, and only if it stays there.
        mutating func mustTell(of obstacle: String, at now: Instant) -> Bool {
            if obstacle != self.obstacle { (self.obstacle, tellAt) = (obstacle, now + Self.patience) }
            guard let due = tellAt, now >= due else { return false }
            tellAt = nil
            return true
        }
    }
}
