import Media
import TestSupport
import Testing
import Time

@testable import Sound

/// A session with a sound server in virtual time, which does each action at once as its settings say, and writes it down.
struct VirtualServer {
    typealias Action = SoundSession.Action

    private(set) var now = Instant.seconds(1000)
    private(set) var session: SoundSession
    private var log: [Action] = []
    /// What the session has there, by the stream's number.
    private(set) var streams: [Int: SoundTarget] = [:]
    private(set) var isConnected = false

    var view = ServerView(
        defaultSource: "mic",
        defaultSink: "speakers",
        sources: [
            ServerView.Source(name: "speakers.monitor", description: "Monitor of Speakers", isMonitor: true),
            ServerView.Source(name: "headset.monitor", description: "Monitor of Headset", isMonitor: true),
            ServerView.Source(name: "mic", description: "Microphone", isMonitor: false),
            ServerView.Source(name: "webcam", description: "Webcam", isMonitor: false),
        ],
        sinks: [
            ServerView.Sink(index: 0, name: "speakers", description: "Speakers", monitor: "speakers.monitor"),
            ServerView.Sink(index: 1, name: "headset", description: "Headset", monitor: "headset.monitor"),
        ]
    )
    var isThere = true
    /// It takes requests and does nothing.
    var hangs = false
    /// Streams that it refuses.
    var refuses: (SoundTarget) -> Bool = { _ in false }

    init(_ wish: SoundWish, _ mute: SoundMute = SoundMute(), isPaused: Bool = false, process: Int32? = nil) {
        session = SoundSession(wish, mute) { process, whole in process / 100 == whole / 100 }
        handle(.broadcast(BroadcastView(isPaused: isPaused, process: process)))
    }

    /// What is heard and played, in any order.
    var targets: Set<SoundTarget> { Set(streams.values) }

    /// What was done since the last call.
    mutating func take() -> [Action] {
        defer { log = [] }
        return log
    }

    /// What people were told since the last call.
    mutating func notes() -> [SoundNote] {
        take().compactMap { if case .tell(let note) = $0 { note } else { nil } }
    }

    mutating func handle(_ event: SoundSession.Event) {
        session.handle(event, at: now)
        act()
    }

    /// The server tells that something has changed.
    mutating func change(_ body: (inout ServerView) -> Void) {
        body(&view)
        if isConnected, !hangs { handle(.viewed(view)) }
    }

    /// Ends the server. One that is restarted is found when the session looks again.
    mutating func crash() {
        isThere = false
        guard isConnected else { return }
        handle(.serverLost(reason: "Connection terminated"))
    }

    /// A stream ends, as with its device.
    mutating func kill(_ target: SoundTarget) throws {
        let id = try #require(streams.first { $0.value == target }?.key)
        streams[id] = nil
        handle(.failed(id, reason: "Entity killed"))
    }

    /// Lets time pass. A server that does not hang answers each second while there are streams.
    mutating func wait(_ time: Duration) {
        let end = now + time
        var answerAt = now + .seconds(1)
        while true {
            let next = earliest(end, session.deadline, answerAt)!
            if next >= end { break }
            #expect(next >= now)
            now = max(now, next)
            if now >= answerAt {
                answerAt = now + .seconds(1)
                if !streams.isEmpty, !hangs { handle(.answered) }
            }
            handle(.woke)
        }
        now = end
        handle(.woke)
    }

    private mutating func act() {
        var outcomes: [SoundSession.Event] = []
        while let action = session.nextAction() {
            log.append(action)
            switch action {
            case .connect:
                #expect(!isConnected)
                isConnected = true
                if !isThere { outcomes.append(.serverLost(reason: "Connection refused")) }
                if isThere, !hangs { outcomes += [.connected, .viewed(view)] }
            case .disconnect:
                #expect(isConnected)
                isConnected = false
                streams = [:]
            case .open(let id, let target):
                #expect(isConnected && streams[id] == nil)
                if refuses(target) {
                    outcomes.append(.failed(id, reason: "Access denied"))
                } else {
                    streams[id] = target
                    if !hangs { outcomes.append(.opened(id)) }
                }
            case .close(let id): streams[id] = nil
            case .hide, .tell: break
            }
        }
        for outcome in outcomes { handle(outcome) }
    }
}
