import FrameBridge
import Posix
import Time

enum AttachedReader {
    /// A reader of a broadcast that has a picture; nil when a signal came before there was one.
    static func open(
        _ broadcast: BroadcastOptions,
        waits: Bool,
        until signals: borrowing TerminationSignals
    ) throws -> FrameReader? {
        var said = ""
        // A broadcast that was started together with this sender is there soon.
        let sayAfter: Instant = MonotonicClock.now() + .milliseconds(500)
        while !signals.take() {
            let obstacle: String
            do throws(BridgeError) {
                var reader = try FrameReader(directory: try BridgeDirectory(path: broadcast.path, create: false))
                let liveness = try reader.liveness()
                let isLive = liveness != .stopped && liveness != .dead
                if isLive, case .frame = try reader.read({ _ in }) {
                    reader.forget()
                    return reader
                }
                let path = try broadcast.path
                obstacle = isLive ? "the broadcast in \(path) has no picture yet" : "no broadcast in \(path) yet"
            } catch .noBroadcast(let path) {
                obstacle = "no broadcast in \(path) yet"
            } catch .noAnswer(let path) {
                obstacle = "the capture process of \(path) does not answer"
            } catch {
                throw error
            }
            guard waits else {
                throw Failure(.tryAgain, "\(obstacle): start one with \"oriel start\", or leave --no-wait out")
            }
            if obstacle != said, MonotonicClock.now() >= sayAfter {
                Console.note("\(obstacle): waiting for it (\"oriel start\")")
                said = obstacle
            }
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + .milliseconds(50))
        }
        return nil
    }
}
