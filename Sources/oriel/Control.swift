import ArgumentParser
import FrameBridge
import Posix

struct Pause: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Pause a broadcast: nothing of the screen leaves the capture process until \"oriel resume\"."
    )

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Receivers keep the last picture instead of a placard that says \"paused\".")
    var freeze = false

    func run() throws {
        try Control.ask(broadcast, for: freeze ? .freeze : .pause) { $0 == .live(.paused) }
    }
}

struct Resume: ParsableCommand {
    static let configuration = CommandConfiguration(abstract: "Go on with a paused broadcast.")

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        try Control.ask(broadcast, for: .resume) { $0 == .live(.active) || $0 == .live(.sourceLost) }
    }
}

struct Stop: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "End a broadcast; its senders say goodbye to their receivers and end too."
    )

    @OptionGroup var broadcast: BroadcastOptions

    func run() throws {
        try Control.ask(broadcast, for: .stop) { $0 == .stopped }
    }
}

/// Leaves a request for the capture process and waits until it was granted.
enum Control {
    private static let patience: UInt64 = 5_000_000_000

    static func ask(
        _ broadcast: BroadcastOptions,
        for request: BridgeRequest,
        until isGranted: (Liveness) -> Bool
    ) throws {
        let directory = try broadcast.directory()
        guard try directory.hasWriter() else { throw BridgeError.noBroadcast(path: directory.path) }
        try directory.post(request)
        let deadline = MonotonicClock.now() + patience
        while MonotonicClock.now() < deadline {
            let liveness = try BridgeInspection(directory).liveness
            if isGranted(liveness), !directory.hasRequest() || liveness == .stopped { return }
            MonotonicClock.sleep(until: MonotonicClock.now() + 2_000_000)
        }
        let pid = try directory.status().map { "process \($0.pid)" } ?? "the capture process"
        throw Failure(.tryAgain, "\(pid) in \(directory.path) did not \(request) within 5 s: end it with kill")
    }
}
