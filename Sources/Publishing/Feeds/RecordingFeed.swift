import Calls
import Control
import FrameBridge
import Media
import Posix
import Sender
import Synchronization
import Time

/// The encoded pictures and sound of this sender, for one recorder, over its connection to the socket for commands.
///
/// The encoders' threads send what the connection takes at once. A thread of the feed sends the rest, and reads the recorder's requests.
final class RecordingFeed: MediaSink {
    private let media: SentMedia
    /// Whether other sinks want a rendition.
    private let isUsed: @Sendable (Rendition.ID) -> Bool
    private let socket: FileDescriptor
    private let wake: EventSignal
    private let ended: @Sendable (RecordingFeed) -> Void
    private let changed: @Sendable () -> Void
    private let state: Mutex<State>
    private let waker = Mutex<(@Sendable () -> Void)?>(nil)
    private let thread = Mutex<Thread?>(nil)

    /// Questions that wait for an answer at once, and how long they do: a replay may be large, and the disk slow.
    private static let mostQuestions = 8
    private static let questionTime = Duration.seconds(32)

    private struct Question {
        let number: UInt64
        let deadline: Instant
        let request: RecorderRequest
        /// All who have asked for the status are answered at once: as many pages may ask in the same instant.
        var completions: [RecorderDesk.Completion]
    }

    private struct State: ~Copyable {
        var pauses: BroadcastPauses
        var changes: ChangeReader
        var queue = FeedQueue()
        var rendition: Rendition
        /// Since when a keyframe is wanted.
        var keyframeAt: Instant?
        var isPaused = false
        /// Whether the recorder wants anything now.
        var isOn = true
        var horizon: Instant?
        /// Oldest first.
        var questions: [Question] = []
        var lastQuestion: UInt64 = 0
        var isClosed = false
        /// Whether the feed's thread waits until the connection takes more.
        var isWaiting = false
    }

    /// Sends to a recorder from `begin` on.
    ///
    /// - Parameters:
    ///   - socket: a non-blocking connection.
    ///   - broadcast: for its pauses and changes.
    ///   - changed: called when `isOn` has changed.
    ///   - ended: called once after `begin`, when the recorder has gone.
    init(
        to socket: consuming sending FileDescriptor,
        _ media: SentMedia,
        of broadcast: consuming sending FrameReader,
        isUsed: @escaping @Sendable (Rendition.ID) -> Bool,
        changed: @escaping @Sendable () -> Void,
        ended: @escaping @Sendable (RecordingFeed) -> Void
    ) throws {
        (self.media, self.isUsed, self.changed, self.ended) = (media, isUsed, changed, ended)
        self.socket = socket
        wake = try EventSignal()
        let first = media.renditions.first { isUsed($0.id) } ?? media.renditions[0]
        let changes = ChangeReader(of: try broadcast.another())
        state = Mutex(State(pauses: BroadcastPauses(of: broadcast), changes: changes, rendition: first))
        let now: Instant = MonotonicClock.now()
        state.withLock { state in
            state.keyframeAt = now
            state.queue.append(.begin(version: FeedMessage.version, offersSound: media.offersSound()))
            look(&state, isThorough: true)
        }
    }

    /// Starts the feed's thread. Call it once.
    func begin() throws(SystemError) {
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run() } }
    }

    /// Ends the connection and the thread.
    func close() {
        state.withLock { $0.isClosed = true }
        wake.set()
        thread.withLock { $0.take() }?.join()
    }

    /// Whether the recorder keeps what is shown now.
    var isOn: Bool { state.withLock { $0.isOn && !$0.isClosed } }

    /// Asks the recorder for a viewer.
    ///
    /// - Parameter completion: called once, on any thread; with nil if it does not answer.
    func ask(_ request: RecorderRequest, _ completion: @escaping RecorderDesk.Completion) {
        let isAsked = state.withLock { state in
            guard !state.isClosed else { return false }
            if request == .status, let index = state.questions.firstIndex(where: { $0.request == .status }) {
                state.questions[index].completions.append(completion)
                return true
            }
            guard state.questions.count < Self.mostQuestions else { return false }
            state.lastQuestion += 1
            let deadline = MonotonicClock.now() + Self.questionTime
            let number = state.lastQuestion
            state.questions.append(
                Question(number: number, deadline: deadline, request: request, completions: [completion])
            )
            state.queue.append(.question(request, number: number, until: deadline))
            flush(&state)
            return true
        }
        // The feed's thread waits until the deadline of another question, or for none.
        if isAsked { wake.set() } else { completion(nil) }
    }

    /// The broadcast's condition has changed.
    func look() {
        state.withLock { state in
            look(&state, isThorough: true)
            flush(&state)
        }
    }

    // MARK: - The sender's side

    func setWaker(_ wake: @escaping @Sendable () -> Void) { waker.withLock { $0 = wake } }

    func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        state.withLock { state in
            guard state.rendition.id == rendition, state.isOn, !state.isClosed else { return .none }
            var demand = Demand(isWanted: true)
            demand.follows = true
            demand.keyframeAt = state.keyframeAt ?? (state.queue.needsKeyframe ? now : nil)
            return demand
        }
    }

    func prefer(_ rendition: Rendition) {
        guard rendition.rung == 0 else { return }
        state.withLock { state in
            // What is encoded already costs nothing.
            guard rendition.id != state.rendition.id, isUsed(rendition.id) || !isUsed(state.rendition.id) else {
                return
            }
            state.rendition = rendition
            state.keyframeAt = MonotonicClock.now()
        }
        waker.withLock { $0 }?()
    }

    func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) {
        let content = bytes.withUnsafeBufferPointer { Array($0) }
        state.withLock { state in
            guard frame.rendition == state.rendition.id, !state.isClosed else { return }
            look(&state, isThorough: false)
            defer { flush(&state) }
            guard !state.isPaused, state.horizon.map({ frame.captureTime >= $0 }) ?? true else { return }
            if let (change, instant) = state.changes.take() { state.queue.append(.changed(change, at: instant)) }
            let picture = FeedPicture(
                codec: state.rendition.codec,
                isKeyframe: frame.isKeyframe,
                width: frame.dimensions.width,
                height: frame.dimensions.height,
                shownAt: frame.capturedAt,
                captureTime: frame.captureTime
            )
            let isTaken = state.queue.append(.picture(picture, content))
            if isTaken, frame.isKeyframe { state.keyframeAt = nil }
        }
    }

    func soundDemand(at now: Instant) -> SoundDemand { SoundDemand(isWanted: isOn) }

    func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {
        let content = packet.withUnsafeBufferPointer { Array($0) }
        state.withLock { state in
            guard !state.isPaused, !state.isClosed else { return }
            state.queue.append(.sound(content, at: sound.capturedAt))
            flush(&state)
        }
    }

    // MARK: - Under the lock

    /// Tells of a pause, and of the horizon, before any picture from after it.
    private func look(_ state: inout State, isThorough: Bool) {
        state.pauses.look(isThorough: isThorough)
        let (isPaused, horizon) = (state.pauses.isPaused, media.horizon())
        if horizon != state.horizon, let horizon { state.queue.append(.horizon(horizon)) }
        if isPaused != state.isPaused {
            state.queue.append(.paused(isPaused, since: state.pauses.horizon ?? MonotonicClock.now()))
            if !isPaused { state.keyframeAt = MonotonicClock.now() }
        }
        (state.isPaused, state.horizon) = (isPaused, horizon)
    }

    /// Sends what the connection takes, unless the feed's thread waits to do that.
    private func flush(_ state: inout State) {
        if state.isWaiting { return }
        drain(&state)
        state.isWaiting = !state.queue.isEmpty || state.isClosed
        if state.isWaiting { wake.set() }
    }

    private func drain(_ state: inout State) {
        do { try state.queue.drain { try socket.sendAvailable($0) } } catch { state.isClosed = true }
    }

    // MARK: - The feed's thread

    private func run() {
        var items = [PollItem(wake.raw), PollItem(socket.raw)]
        var bytes = [UInt8](repeating: 0, count: 4096)
        var decoder = FeedRequestDecoder()
        while true {
            let (isClosed, isBlocked, deadline) = state.withLock { state in
                drain(&state)
                state.isWaiting = !state.queue.isEmpty
                return (state.isClosed, state.isWaiting, state.questions.first?.deadline)
            }
            if isClosed { break }
            items[1].wantsWrite = isBlocked
            // `poll` fails only for want of kernel memory, and then the next round tries again.
            try? poll(&items, until: deadline)
            if items[0].isReadable { wake.clear() }
            if items[1].isReadable, !receive(into: &bytes, &decoder) { break }
            let now: Instant = MonotonicClock.now()
            giveUpQuestions { now >= $0.deadline }
        }
        state.withLock { $0.isClosed = true }
        giveUpQuestions { _ in true }
        ended(self)
    }

    private func giveUpQuestions(where isMeant: (Question) -> Bool) {
        let over = state.withLock { state in
            let over = state.questions.filter(isMeant)
            state.questions.removeAll(where: isMeant)
            return over
        }
        for completion in over.flatMap(\.completions) { completion(nil) }
    }

    private func take(_ answer: FeedAnswer) {
        let question = state.withLock { state in
            state.questions.firstIndex { $0.number == answer.number }.map { state.questions.remove(at: $0) }
        }
        for completion in question?.completions ?? [] { completion(answer) }
    }

    private func take(_ request: FeedRequest) {
        let isNews = state.withLock { state in
            if request != .pause { state.keyframeAt = state.keyframeAt ?? MonotonicClock.now() }
            defer { if request != .keyframe { state.isOn = request == .resume } }
            return request != .keyframe && state.isOn != (request == .resume)
        }
        waker.withLock { $0 }?()
        if isNews { changed() }
    }

    /// Returns false once the recorder has gone.
    private func receive(into bytes: inout [UInt8], _ decoder: inout FeedRequestDecoder) -> Bool {
        let raw = socket.raw
        do {
            let count = try bytes.withUnsafeMutableBytes { try readAvailable(from: raw, into: $0) }
            guard let count else { return true }
            decoder.take(bytes.prefix(count))
            while let item = try decoder.next() {
                switch item {
                case .request(let request): take(request)
                case .answer(let answer): take(answer)
                }
            }
            return count > 0
        } catch {
            return false
        }
    }
}
