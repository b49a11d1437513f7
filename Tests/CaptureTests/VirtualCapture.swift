import FrameBridge
import TestSupport
import Time
import X11Capture

@testable import Capture

/// An engine with a driver that has neither clock nor screen: it does each action at once as its settings say, and writes it
/// down.
struct VirtualCapture {
    typealias Action = CaptureEngine.Action

    static let interval = Duration.milliseconds(40)
    static let full = BridgeError.noSpace(path: "/bridge", bytes: 1)

    private(set) var now = Instant.seconds(1000)
    private(set) var engine: CaptureEngine
    /// What was done since the last `take`, but for what each turn has.
    private(set) var log: [Action] = []
    /// When the screen was looked at.
    private(set) var looks: [Instant] = []
    private(set) var turns = 0
    /// How often statistics were reported.
    private(set) var reports = 0

    var isWatched = true
    var hasFile = true
    var requests: [BridgeRequest] = []
    /// What the X server tells with the next drain.
    var news = XEvents()
    /// Whether each look finds something new.
    var changes = false
    var lookTime = Duration.zero
    /// What looks find beside that.
    var sight = XSession.Sight()
    var isSourceThere = true
    /// The X server is away.
    var isServerThere = true
    var isWindowGone = false
    var isDiskFull = false
    /// Covers need room too, as after the frames file was removed.
    var refusesCovers = false
    /// Whether this process has published a frame, so that a cover that fails leaves it to be seen.
    var hasFrame = false
    var opensSource = true
    var warning: String?

    init(
        isPaused: Bool = false,
        goesOn: Bool = false,
        failing reason: String? = nil,
        isForGood: Bool = false,
        warning: String? = nil
    ) {
        let start: CaptureEngine.Connection =
            reason.map { .failed(reason: $0, isForGood: isForGood) }
            ?? .made(Self.schedule(at: now), warning: warning)
        isServerThere = reason == nil
        engine = CaptureEngine(start, isPaused: isPaused, goesOn: goesOn, at: now)
        act()
    }

    static func schedule(at now: Instant) -> CaptureSchedule {
        CaptureSchedule(interval: interval, hasDamage: true, hasMotion: true, at: now)
    }

    /// What was done since the last call.
    mutating func take() -> [Action] {
        defer { log = [] }
        return log
    }

    /// One turn of the loop, now.
    mutating func turn(isCalled: Bool = false, isSignalled: Bool = false) {
        turns += 1
        handle(isSignalled ? .signalled : .woke(isCalled: isCalled))
        act()
        handle(.served)
        act()
    }

    /// Asks for something, and returns what is done in that turn.
    mutating func ask(_ requests: BridgeRequest...) -> [Action] {
        self.requests += requests
        log = []
        turn(isCalled: true)
        return take()
    }

    /// Lets time pass, with turns when they are due and when the X server is heard.
    mutating func run(_ time: Duration) {
        let end = now + time
        while engine.end == nil {
            let rest = engine.rest(at: now)
            let next = rest.hearsServer && news != XEvents() ? now : max(now, rest.until)
            if next > end { break }
            // A deadline that has passed must not come again.
            now = max(next, now + .microseconds(1))
            turn()
        }
        now = max(now, end)
    }

    /// The process does not get to run for a while.
    mutating func stall(_ time: Duration) {
        now += time
        turn()
    }

    private mutating func handle(_ event: CaptureEngine.Event) { engine.handle(event, at: now) }

    private mutating func act() {
        while let action = engine.nextAction() {
            switch action {
            case .beat, .takeRequest, .drain, .look, .reportStatistics: break
            default: log.append(action)
            }
            perform(action)
        }
    }

    private mutating func perform(_ action: Action) {
        switch action {
        case .answer, .setState, .tell, .forgetPublished, .hidePast: break
        case .reportStatistics: reports += 1
        case .beat:
            handle(.beaten(hasFile: hasFile, isWatched: isWatched))
            hasFile = true
        case .takeRequest: handle(.asked(requests.isEmpty ? nil : requests.removeFirst()))
        case .connect:
            let schedule = Self.schedule(at: now)
            if isServerThere { return handle(.connected(.made(schedule, warning: warning))) }
            handle(.connected(.failed(reason: "away", isForGood: isWindowGone)))
        case .drain(let thenLook):
            guard isServerThere else { return handle(.serverLost("away")) }
            defer { news = XEvents() }
            handle(.told(news, mayLook: thenLook))
        case .look(let look):
            precondition(looks.count < 100_000, "no end of looks")
            let start = now
            looks.append(start)
            now += lookTime
            guard isServerThere else { return handle(.serverLost("away")) }
            guard isSourceThere else { return handle(.sourceAbsent(look, from: start, reason: "hidden")) }
            var sight = sight
            sight.isNew = sight.isNew || changes || looks.count == 1
            handle(.looked(look, from: start, sight))
        case .publish:
            hasFrame = hasFrame || !isDiskFull
            handle(isDiskFull ? .notPublished(Self.full) : .published)
        case .cover(_, let isAsked):
            guard refusesCovers else {
                hasFrame = true
                return handle(.covered(isAsked: isAsked))
            }
            handle(.notCovered(reason: "full", isHidden: !hasFrame, isAsked: isAsked))
        case .adopt(_, let publishing):
            guard opensSource else { return handle(.notOpened("not there")) }
            if publishing, isDiskFull { return handle(.notReplaced("full")) }
            handle(.adopted(Self.schedule(at: now), warning: warning))
        }
    }
}
