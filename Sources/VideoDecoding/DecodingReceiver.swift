package import Media
package import Pixels
import Posix
import Synchronization

/// Decodes a peer's video on a thread of its own. Damaged frames are left out, and a keyframe is asked for.
///
/// Close it: until then its thread keeps it alive.
package final class DecodingReceiver: FrameReceiver {
    /// Work for the thread. A change of peer drops the frames of the one before.
    private enum Work {
        case frame(ReceivedFrame)
        /// The peer is gone, or another one has come.
        case clear

        var isFrame: Bool { if case .frame = self { true } else { false } }
    }

    private struct State {
        var work: [Work] = []
        var requestKeyframe: (@Sendable () -> Void)?
        /// Whether frames are dropped until the next keyframe.
        var awaitsKeyframe = true
        var isClosed = false
    }

    /// The most frames that wait for decoding.
    package static let limit = 16

    private let state = Mutex(State())
    private let bell = Bell()
    private let show: @Sendable (inout PlanarPicture) -> Bool
    private let clear: @Sendable () -> Void
    private let report: @Sendable (String) -> Void
    private let thread = Mutex<Thread?>(nil)

    /// Starts the thread, on which all closures are called.
    ///
    /// - Parameters:
    ///   - show: gets each picture, and may keep it if it leaves another one in its place. Returns whether it takes
    ///     more. After false, no frame is decoded any more.
    ///   - clear: called when the peer of the shown pictures is gone.
    ///   - report: gets a sentence on each peer's first frame that cannot be decoded.
    package init(
        show: @escaping @Sendable (inout PlanarPicture) -> Bool,
        clear: @escaping @Sendable () -> Void,
        report: @escaping @Sendable (String) -> Void
    ) throws {
        (self.show, self.clear, self.report) = (show, clear, report)
        try thread.withLock { thread in thread = try Thread { [self] in run() } }
    }

    package func begin(_ requestKeyframe: @escaping @Sendable () -> Void) {
        state.withLock { state in
            state.work.removeAll { $0.isFrame }
            // The end of the earlier peer was not reported.
            if state.requestKeyframe != nil, state.work.isEmpty { state.work = [.clear] }
            state.requestKeyframe = requestKeyframe
            state.awaitsKeyframe = true
        }
        bell.ring()
    }

    package func receive(_ frame: ReceivedFrame) {
        let request = state.withLock { state -> (@Sendable () -> Void)? in
            if state.isClosed || state.awaitsKeyframe && !frame.isKeyframe { return nil }
            guard state.work.count < Self.limit else {
                state.work.removeAll { $0.isFrame }
                state.awaitsKeyframe = true
                return state.requestKeyframe
            }
            state.awaitsKeyframe = false
            state.work.append(.frame(frame))
            return nil
        }
        request?()
        bell.ring()
    }

    package func end() {
        state.withLock { state in
            state.work = [.clear]
            state.requestKeyframe = nil
        }
        bell.ring()
    }

    /// Ends the thread. Waiting frames are dropped.
    package func close() {
        state.withLock { $0.isClosed = true }
        bell.ring()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - The thread

    private func run() {
        var decoder: VideoDecoder?
        var picture = PlanarPicture()
        var hasReported = false
        while true {
            let rings = bell.count
            let (work, isClosed) = state.withLock { state in
                (state.work.isEmpty ? nil : state.work.removeFirst(), state.isClosed)
            }
            if isClosed { return }
            guard let work else {
                bell.wait(while: rings)
                continue
            }
            guard case .frame(let frame) = work else {
                decoder = nil
                hasReported = false
                clear()
                continue
            }
            do throws(VideoDecoderError) {
                if frame.isKeyframe, decoder?.codec != frame.codec { decoder = try VideoDecoder(frame.codec) }
                if try decoder?.decode(frame.bytes.span, into: &picture) ?? false, !show(&picture) {
                    return state.withLock { state in
                        state.isClosed = true
                        state.work.removeAll()
                    }
                }
            } catch {
                decoder = nil
                if !hasReported { report("the other side's picture cannot be shown: \(error)") }
                hasReported = true
                lose(error)
            }
        }
    }

    /// Drops all frames until the next keyframe. Another keyframe of the same size and format would be as useless, so
    /// it is not asked for.
    private func lose(_ error: VideoDecoderError) {
        let isDamaged =
            switch error {
            case .size, .format: false
            case .truncated, .library: true
            }
        let request = state.withLock { state -> (@Sendable () -> Void)? in
            state.work = Array(state.work.drop { if case .frame(let frame) = $0 { !frame.isKeyframe } else { false } })
            guard state.work.isEmpty else { return nil }
            state.awaitsKeyframe = true
            return isDamaged ? state.requestKeyframe : nil
        }
        request?()
    }
}
