import ArgumentParser
import FrameBridge
import Helpers
import Posix
import Time

struct Pause: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pause a broadcast: nothing of the screen leaves the capture process until \"oriel resume\"."
    )

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Viewers keep the last picture in place of a slate that says \"paused\".")
    var freeze = false

    func run() throws {
        try CaptureControl.ask(broadcast, for: freeze ? .freeze : .pause)
    }
}

struct Resume: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Go on with a paused broadcast.")

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        try CaptureControl.ask(broadcast, for: .resume)
    }
}

struct Stop: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End a broadcast; its senders say goodbye to their receivers and end too."
    )

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        try CaptureControl.ask(broadcast, for: .stop)
    }
}

/// Asks the capture process for something and waits until it was done.
enum CaptureControl {
    private static let patience = Duration.seconds(5)

    static func ask(_ broadcast: BroadcastOptions, for request: BridgeRequest) throws {
        let directory = try broadcast.directory()
        // A pause also waits for the successor of a capture process that died.
        let isPause = request == .pause || request == .freeze
        let isThere = try isPause ? BridgeInspection(directory).liveness != .stopped : directory.hasWriter()
        guard isThere else { throw BridgeError.noBroadcast(path: directory.path) }
        let signals = try TerminationSignals()
        var isGivenUp = false
        let deadline: Instant = MonotonicClock.now() + patience
        let answer = try directory.ask(request, until: deadline) {
            isGivenUp = isGivenUp || signals.take()
            return isGivenUp
        }
        if case .refused(let reason)? = answer { throw Failure(.failed, reason) }
        if answer == nil, isGivenUp {
            let left = isPause ? "the request to \(request) stays" : "the request to \(request) is taken back"
            throw Failure(.failed, "there was no answer in \(directory.path) until this was ended: \(left)")
        }
        if request == .stop {
            while try BridgeInspection(directory).liveness != .stopped, MonotonicClock.now() < deadline, !signals.take()
            {
                MonotonicClock.sleep(for: .milliseconds(2))
            }
            if try BridgeInspection(directory).liveness == .stopped { return }
        } else if answer != nil {
            return
        }
        if try BridgeInspection(directory).liveness == .stopped { throw BridgeError.noBroadcast(path: directory.path) }
        guard try directory.hasWriter() else {
            let next = isPause ? "the next one begins paused" : "start it again and repeat this"
            throw Failure(.tryAgain, "the capture process in \(directory.path) has died: \(next)")
        }
        let pid = try directory.status().map { "process \($0.pid)" } ?? "the capture process"
        throw Failure(.tryAgain, "\(pid) in \(directory.path) did not \(request) within 5 s: end it with kill -KILL")
    }
}
