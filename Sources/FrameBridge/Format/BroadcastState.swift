import Posix
import Time

/// What a capture process says of itself, in the header page and in the status file.
public enum BroadcastState: UInt32, Sendable, CaseIterable {
    /// The lock is held and the first frame is not there yet.
    case starting = 1
    /// Frames come as the screen changes.
    case active = 2
    /// A person paused it. From the moment at which that is told as done (`BridgeAnswer.granted`, `oriel pause` returns),
    /// and until a person resumes it:
    ///
    /// - no new pixel of the screen leaves the capture process;
    /// - all slots of the frames hold the slate or, where the picture was frozen, the last picture;
    /// - the header's *horizon* is the instant of that picture: nobody is shown, sent or sent again what was captured
    ///   before, by frames, by what was encoded from them, or by snapshots (`Horizon`);
    /// - a successor of the capture process begins paused, however that one ends without a goodbye.
    case paused = 3
    /// The capture process is about to stop.
    case stopping = 4
    /// The capture process said goodbye.
    case stopped = 5
    /// Another generation has taken the place of a ring's file. No broadcast is in this state.
    case retired = 6
    /// New pictures cannot be written, for want of space perhaps; the last one stays, and the capture process tries on.
    case error = 7
    /// The X server or the monitor is gone; the last picture stays, and the capture process looks for it again.
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

/// How a broadcast is, seen from outside: what it says, checked against what the kernel knows.
public enum Liveness: Sendable, Equatable {
    /// No capture process has been here, or the last one said goodbye.
    case stopped
    /// The writer lock is free although the last capture process never said goodbye.
    case dead
    /// A live process whose heartbeat is older than two seconds: suspended, or held up by its X server.
    case stalled(BroadcastState)
    /// A live process, and what it says of itself.
    case live(BroadcastState)

    /// A heartbeat older than this means that the process does not get to run.
    static let stallTime = Duration.seconds(2)

    /// - Parameter heartbeat: nil if the header holds none, which is as good as an old one.
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
