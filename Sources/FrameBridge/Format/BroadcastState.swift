import Posix
import Time

/// The capture process's own state, in the header page and in the status file.
public enum BroadcastState: UInt32, Sendable, CaseIterable {
    /// The lock is held, and there is no frame yet.
    case starting = 1
    /// Frames come as the screen changes.
    case active = 2
    /// A person paused it. As soon as the pause is reported as done (`BridgeAnswer.granted`, `oriel pause` returns),
    /// and until a person resumes it:
    ///
    /// - no new pixel of the screen leaves the capture process;
    /// - all slots of the frames hold the slate or, if the picture was frozen, the last picture;
    /// - the header's *horizon* is the instant of that picture. Earlier captures are never shown, sent or sent again:
    ///   neither as frames, nor encoded, nor as snapshots (`Horizon`);
    /// - if the capture process ends without a goodbye, its successor begins paused.
    case paused = 3
    /// The capture process is about to stop.
    case stopping = 4
    /// The capture process said goodbye.
    case stopped = 5
    /// Another generation has replaced a ring's file. A broadcast is never in this state.
    case retired = 6
    /// New pictures cannot be written, perhaps for lack of space. The last one stays, and the capture process keeps
    /// trying.
    case error = 7
    /// The X server or the monitor is gone. The last picture stays, and the capture process keeps looking for it.
    case sourceLost = 8

    /// The name in status files and JSON.
    public var name: String {
        switch self {
        case .starting: "starting"
        case .active: "active"
        case .paused: "paused"
        case .stopping: "stopping"
        case .stopped: "stopped"
        case .retired: "retired"
        case .error: "error"
        case .sourceLost: "source_lost"
        }
    }

    init?(name: some StringProtocol) {
        guard let state = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = state
    }
}

/// The state of a broadcast from outside: its own state, checked against the kernel's knowledge.
public enum Liveness: Sendable, Equatable {
    /// There never was a capture process, or the last one said goodbye.
    case stopped
    /// The writer lock is free, but the last capture process never said goodbye.
    case dead
    /// A live process with a heartbeat older than two seconds: suspended, or held up by its X server.
    case stalled(BroadcastState)
    /// A live process, with its own state.
    case live(BroadcastState)

    /// A process with an older heartbeat does not get to run.
    static let stallTime = Duration.seconds(2)

    /// - Parameter heartbeat: nil if the header has none, which counts as an old one.
    init(state: BroadcastState, heartbeat: Instant?, now: Instant = MonotonicClock.now()) {
        self = heartbeat.map { now <= $0 + Self.stallTime } ?? false ? .live(state) : .stalled(state)
    }

    /// The name in JSON: the state's own, or `dead` or `stalled`.
    public var name: String {
        switch self {
        case .stopped: "stopped"
        case .dead: "dead"
        case .stalled: "stalled"
        case .live(let state): state.name
        }
    }
}
