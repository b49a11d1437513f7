package import Media
package import Posix
import RTP
import Synchronization
package import WebRTC

/// A stream to any number of viewers over WebRTC: one encode and one packetization for all of a codec.
///
/// Frames come from the encoder's thread, offers from anywhere; a thread of the call's own runs the viewers' sessions.
/// Close the call: until then its thread keeps it alive.
package final class WebCall: Sendable {
    package enum Event: Sendable {
        case joined(number: Int, address: String, codec: VideoCodec)
        case left(number: Int, address: String, PeerSession.End)
    }

    /// An encoded frame on its way from the encoder's thread.
    struct Frame: Sendable {
        let codec: VideoCodec
        let bytes: [UInt8]
        let isKeyframe: Bool
        let dimensions: (width: UInt16, height: UInt16)
        let capturedAt: UInt64
        let takenAt: UInt64
    }

    /// What another thread asks of the network thread.
    enum Request: Sendable {
        case join(offer: String, address: String, @Sendable (Result<Admission, Refusal>) -> Void)
        case trickle(id: String, fragment: String, FragmentCondition, @Sendable (TrickleOutcome) -> Void)
        case leave(id: String, @Sendable (Bool) -> Void)
    }

    /// What the threads share.
    struct Shared: ~Copyable {
        var frames: [Frame] = []
        var requests: [Request] = []
        /// Codecs that somebody receives, or will as soon as there is a path.
        var codecsInUse: [VideoCodec] = []
        var preferredCodec = VideoCodec.vp8
        var keyframeRequests: [VideoCodec: KeyframeRequests] = [:]
        var viewers: [ViewerStatus] = []
        /// Those of whom an answer was told, until they have left.
        var sessions: Set<String> = []
        var totals = WebCallTotals()
        /// Codecs of which a frame was dropped: nothing can be decoded before the next keyframe.
        var incomplete: Set<VideoCodec> = []
        var isClosed = false
    }

    /// Frames that wait for the network thread. More than these are dropped.
    private static let frameLimit = 16

    package let configuration: Configuration
    package let fingerprint: Fingerprint
    /// Rung when the codecs in use change or a keyframe is wanted.
    package let bell = Bell()
    let shared = Mutex(Shared())
    private let waker: ICELoop.Waker
    private let thread = Mutex<Thread?>(nil)

    /// Starts the network thread.
    ///
    /// - Parameter report: gets who joins and leaves, on the network thread.
    package init(
        _ configuration: Configuration,
        report: @escaping @Sendable (Event) -> Void
    ) throws {
        let identity = try DTLSIdentity()
        let loop = ICELoop()
        self.configuration = configuration
        fingerprint = identity.fingerprint
        waker = loop.waker
        let viewers = ViewerLoop(configuration, identity: identity, loop: loop, report: report)
        // The loop is used by the thread alone from here on.
        nonisolated(unsafe) let owned = viewers
        try thread.withLock { thread in thread = try Thread { [self] in owned.run(for: self) } }
    }

    // MARK: - The encoder's side

    /// Codecs to encode. Empty while nobody looks.
    package var codecsInUse: [VideoCodec] { shared.withLock { $0.codecsInUse } }

    /// Sends a frame to all viewers of its codec, unless its picture was taken before the horizon. Does not wait.
    package func send(
        frame: Span<UInt8>,
        codec: VideoCodec,
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16),
        capturedAt: UInt64,
        takenAt: UInt64
    ) {
        let frame = Frame(
            codec: codec,
            bytes: frame.withUnsafeBufferPointer { Array($0) },
            isKeyframe: isKeyframe,
            dimensions: dimensions,
            capturedAt: capturedAt,
            takenAt: takenAt
        )
        let now = MonotonicClock.now()
        shared.withLock { shared in
            if isKeyframe { shared.incomplete.remove(codec) }
            guard shared.frames.count < Self.frameLimit, !shared.incomplete.contains(codec) else {
                shared.incomplete.insert(codec)
                shared.keyframeRequests[codec, default: KeyframeRequests()].request()
                bell.ring()
                return
            }
            shared.frames.append(frame)
            if isKeyframe { shared.keyframeRequests[codec, default: KeyframeRequests()].keyframeSent(at: now) }
        }
        waker.wake()
    }

    /// Whether the next picture of a codec must be a keyframe. The answer is given once; ask before encoding.
    package func takeKeyframeRequest(_ codec: VideoCodec) -> Bool {
        let now = MonotonicClock.now()
        return shared.withLock { $0.keyframeRequests[codec]?.take(at: now) ?? false }
    }

    /// The codec that suits the picture best: viewers who take it go on with it, at a keyframe.
    package func prefer(_ codec: VideoCodec) {
        shared.withLock { $0.preferredCodec = codec }
        waker.wake()
    }

    // MARK: - The signalling side

    /// Answers an offer, or refuses. The completion is called on the network thread.
    package func join(
        offer: String,
        from address: String,
        completion: @escaping @Sendable (Result<Admission, Refusal>) -> Void
    ) {
        let request = Request.join(offer: offer, address: address) { [self] result in
            if case .success(let admission) = result { shared.withLock { _ = $0.sessions.insert(admission.id) } }
            completion(result)
        }
        if !enqueue(request) { completion(.failure(.closed)) }
    }

    /// Whether there is such a session, whose name nobody knows but its viewer.
    package func hasSession(_ id: String) -> Bool { shared.withLock { $0.sessions.contains(id) } }

    /// Takes a fragment with candidates or new credentials.
    package func trickle(
        _ fragment: String,
        to id: String,
        _ condition: FragmentCondition,
        completion: @escaping @Sendable (TrickleOutcome) -> Void
    ) {
        let request = Request.trickle(id: id, fragment: fragment, condition, completion)
        if !enqueue(request) { completion(.unknownViewer) }
    }

    /// Ends a viewer's session. The completion gets whether there was one.
    package func leave(_ id: String, completion: @escaping @Sendable (Bool) -> Void) {
        if !enqueue(.leave(id: id, completion)) { completion(false) }
    }

    /// All viewers, renewed each second and when one comes or goes.
    package var viewers: [ViewerStatus] { shared.withLock { $0.viewers } }

    /// Renewed as `viewers` are.
    package var totals: WebCallTotals { shared.withLock { $0.totals } }

    /// Says goodbye to all viewers and ends the thread. Further calls do nothing.
    package func close() {
        shared.withLock { $0.isClosed = true }
        waker.wake()
        thread.withLock { $0.take() }?.join()
    }

    /// Returns false if the call is closed.
    private func enqueue(_ request: Request) -> Bool {
        let isOpen = shared.withLock { shared in
            if !shared.isClosed { shared.requests.append(request) }
            return !shared.isClosed
        }
        waker.wake()
        return isOpen
    }
}
