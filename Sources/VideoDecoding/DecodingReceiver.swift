package import Media
package import Pixels
import Posix
import Synchronization

/// Decodes what a peer sends, on a thread of its own. What is damaged is left out, and a keyframe asked for.
///
/// Close it: until then its thread keeps it alive.
package final class DecodingReceiver: FrameReceiver {
    /// What the thread has to do. A peer that comes or goes takes the frames of another one away.
    private enum Work {
        case frame(ReceivedFrame)
        /// There is no peer any more, or another one.
        case clear

        var isFrame: Bool { if case .frame = self { true } else { false } }
    }

    private struct State {
        var work: [Work] = []
        var requestKeyframe: (@Sendable () -> Void)?
        /// Whether frames are left out until the next keyframe.
        var awaitsKeyframe = true
        var isClosed = false
    }

    /// The most frames that wait to be decoded.
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
    ///   - show: gets each picture, and may keep it if it leaves another one in its place. Returns whether it takes more: once it
    ///     does not, no frame is decoded any more.
    ///   - clear: is called when there is no peer any more whose pictures were shown.
    ///   - report: gets a sentence on the first frame of each peer that cannot be decoded.
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
            // Nobody has said that the earlier peer has gone.
            if state.requestKeyframe != nil, state.work.isEmpty { state.work = [.clear] }
            state.requestKeyframe = requestKeyframe
            state.awaitsKeyframe = true
        }
        bell.ring()
    }

    package func take(_ frame: ReceivedFrame) {
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

    /// Ends the thread. Frames that wait are not decoded any more.
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
                if !hasReported { report("what the other side sends cannot be shown: \(error)") }
                hasReported = true
                lose(error)
            }
        }
    }

    /// Nothing before the next keyframe can be decoded. Another one of the same size and format would be as useless: it is not
    /// asked for.
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
