import Glibc
import Media
import Synchronization
import Time

/// A sink that notes what it gets.
final class TestSink: MediaSink {
    struct Frame: Sendable {
        let frame: EncodedFrame
        let size: Int
        let thread: pthread_t
    }

    struct State {
        var demands: [Rendition.ID: Demand] = [:]
        var frames: [Frame] = []
        var wake: (@Sendable () -> Void)?
    }

    let state = Mutex(State())
    private let onFrame: @Sendable (EncodedFrame) throws -> Void
    private let onDemand: @Sendable (Demand) -> Void

    /// - Parameters:
    ///   - onFrame: called with each frame after it was noted.
    ///   - onDemand: called with each demand before the sink tells it.
    init(
        wanting renditions: [Rendition],
        onFrame: @escaping @Sendable (EncodedFrame) throws -> Void = { _ in },
        onDemand: @escaping @Sendable (Demand) -> Void = { _ in }
    ) {
        self.onFrame = onFrame
        self.onDemand = onDemand
        state.withLock { state in
            for rendition in renditions { state.demands[rendition.id] = Demand(isWanted: true) }
        }
    }

    /// The frames of a rendition.
    func frames(of rendition: Rendition) -> [Frame] {
        state.withLock { $0.frames.filter { $0.frame.rendition == rendition.id } }
    }

    /// Wants something else from now on.
    func demand(_ demand: Demand, of rendition: Rendition) {
        let wake = state.withLock { state in
            state.demands[rendition.id] = demand
            return state.wake
        }
        wake?()
    }

    func setWaker(_ wake: @escaping @Sendable () -> Void) { state.withLock { $0.wake = wake } }

    func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        let demand = state.withLock { $0.demands[rendition] ?? .none }
        onDemand(demand)
        return demand
    }

    func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) throws {
        let note = Frame(frame: frame, size: bytes.count, thread: pthread_self())
        state.withLock { state in
            state.frames.append(note)
            if frame.isKeyframe { state.demands[frame.rendition]?.keyframeAt = nil }
        }
        try onFrame(frame)
    }

    func prefer(_ rendition: Rendition) {}

    func soundDemand(at now: Instant) -> SoundDemand { .none }

    func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {}

}
