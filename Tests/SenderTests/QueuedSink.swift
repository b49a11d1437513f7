import Media
import Posix
import Synchronization
import Time

/// A sink that may wait, for a disk or a connection: its frames are copied into a queue, and a thread of its own gives them to
/// it. When the queue is full frames are dropped, and a keyframe is demanded once there is room.
///
/// Close it: until then its thread keeps it alive.
final class QueuedSink: MediaSink {
    /// Frames that may wait.
    private static let limit = 16
    /// The least time from one keyframe to the next that is demanded here.
    private static let keyframeInterval = Duration.milliseconds(300)
    /// When to ask again whether there is room.
    private static let patience = Duration.milliseconds(10)

    private struct State {
        var frames: [(bytes: [UInt8], frame: EncodedFrame)] = []
        /// Renditions of which a frame was dropped: nothing can be decoded before the next keyframe.
        var incomplete: Set<Rendition.ID> = []
        /// When the picture of a rendition's last keyframe was captured.
        var keyframes: [Rendition.ID: Instant] = [:]
        var wakeSender: (@Sendable () -> Void)?
        var failure: (any Error)?
        var isClosed = false
    }

    private let sink: any MediaSink
    private let state = Mutex(State())
    /// Rung when there is a frame, or the end.
    private let bell = Bell()
    private let thread = Mutex<Thread?>(nil)

    init(_ sink: any MediaSink) throws(SystemError) {
        self.sink = sink
        try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run() } }
    }

    func setWaker(_ wake: @escaping @Sendable () -> Void) {
        state.withLock { $0.wakeSender = wake }
        sink.setWaker(wake)
    }

    func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        var demand = sink.demand(for: rendition, at: now)
        state.withLock { state in
            if state.frames.count >= Self.limit {
                // A keyframe would be dropped too.
                demand.keyframeAt = nil
                demand.isFullUntil = now + Self.patience
            } else if state.incomplete.contains(rendition) {
                let keyframeAt = state.keyframes[rendition].map { $0 + Self.keyframeInterval } ?? now
                demand.keyframeAt = earliest(demand.keyframeAt, keyframeAt)
            }
        }
        return demand
    }

    func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) throws {
        var copy: [UInt8] = []
        copy.reserveCapacity(bytes.count)
        for index in bytes.indices { copy.append(bytes[index]) }
        try state.withLock { state in
            if let failure = state.failure { throw failure }
            if frame.isKeyframe {
                state.keyframes[frame.rendition] = frame.capturedAt
                state.incomplete.remove(frame.rendition)
            }
            guard state.frames.count < Self.limit, !state.incomplete.contains(frame.rendition) else {
                state.incomplete.insert(frame.rendition)
                return
            }
            state.frames.append((copy, frame))
        }
        bell.ring()
    }

    func prefer(_ rendition: Rendition) { sink.prefer(rendition) }

    func soundDemand(at now: Instant) -> SoundDemand { .none }

    func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {}

    /// Ends the thread after the frame at hand; what waits is dropped.
    func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    private func run() {
        while true {
            let rings = bell.count
            let (next, wakeSender, isClosed) = state.withLock { state in
                let wakeSender = state.incomplete.isEmpty ? nil : state.wakeSender
                return (state.frames.isEmpty ? nil : state.frames.removeFirst(), wakeSender, state.isClosed)
            }
            if isClosed { return }
            // There is room for a keyframe now.
            if next != nil { wakeSender?() }
            guard let (bytes, frame) = next else {
                bell.wait(while: rings)
                continue
            }
            do { try sink.send(bytes.span, frame) } catch {
                // The next frame is let in, to throw this.
                let wakeSender = state.withLock { state in
                    state.failure = error
                    state.frames.removeAll()
                    return state.wakeSender
                }
                wakeSender?()
                return
            }
        }
    }
}
