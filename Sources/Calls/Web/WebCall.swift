package import Media
import Posix
import RTP
import Synchronization
package import Time
package import WebRTC

/// A stream to any number of viewers over WebRTC: one encode and one packetization for all of a rendition.
///
/// Frames come from the encoder's thread, offers from anywhere; a thread of the call's own runs the viewers' sessions.
/// Close the call: until then its thread keeps it alive.
package final class WebCall: MediaSink {
    package enum Event: Sendable {
        case joined(number: Int, address: String, codec: VideoCodec)
        case left(number: Int, address: String, PeerSession.End)
        /// The broadcast is well or not, as of now.
        case broadcast(BroadcastCondition)
    }

    /// What another thread asks of the network thread.
    enum Request: Sendable {
        case join(offer: String, address: String, @Sendable (Result<Admission, Refusal>) -> Void)
        case trickle(id: String, fragment: String, FragmentCondition, @Sendable (TrickleOutcome) -> Void)
        case leave(id: String, @Sendable (Bool) -> Void)
        case kick(number: Int)
    }

    /// What the threads share.
    struct Shared: ~Copyable {
        /// Encoded frames on their way from the encoders' threads.
        var frames: [(bytes: [UInt8], frame: EncodedFrame)] = []
        var requests: [Request] = []
        /// Renditions that somebody receives, or will as soon as there is a path.
        var renditionsInUse: Set<Rendition.ID> = []
        var preferred: Rendition.ID?
        /// The encoders' target, in bits a second, if another one than the renditions' own was set.
        var targetBitrate: Int?
        var keyframeRequests: [Rendition.ID: KeyframeRequests] = [:]
        var wakeSender: (@Sendable () -> Void)?
        var viewers: [ViewerStatus] = []
        /// Those of whom an answer was told, until they have left.
        var sessions: Set<String> = []
        /// The sessions that were kicked last, in order.
        var kicked: [String] = []
        var totals = WebCallTotals()
        /// Renditions of which a frame was dropped: nothing can be decoded before the next keyframe.
        var incomplete: Set<Rendition.ID> = []
        var isClosed = false
    }

    /// Frames that wait for the network thread. More than these are dropped.
    private static let frameLimit = 16
    /// So many kicked viewers are told why their sessions ended.
    private static let kickedLimit = 64

    package let configuration: Configuration
    package let fingerprint: Fingerprint
    let shared = Mutex(Shared())
    private let report: @Sendable (Event) -> Void
    private let waker: ICELoop.Waker
    private let thread = Mutex<Thread?>(nil)

    /// Starts the network thread.
    ///
    /// - Parameter report: gets what happens, on any thread.
    package init(
        _ configuration: Configuration,
        report: @escaping @Sendable (Event) -> Void
    ) throws {
        let identity = try DTLSIdentity()
        let loop = ICELoop()
        self.configuration = configuration
        self.report = report
        fingerprint = identity.fingerprint
        waker = loop.waker
        let viewers = ViewerLoop(configuration, identity: identity, loop: loop, report: report)
        // The loop is used by the thread alone from here on.
        nonisolated(unsafe) let owned = viewers
        try thread.withLock { thread in thread = try Thread { [self] in owned.run(for: self) } }
    }

    // MARK: - The sender's side

    package func setWaker(_ wake: @escaping @Sendable () -> Void) { shared.withLock { $0.wakeSender = wake } }

    /// Each viewer has a pace of its own, and none holds up the encoder.
    package func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        shared.withLock { shared in
            guard shared.renditionsInUse.contains(rendition) else { return .none }
            return Demand(
                isWanted: true,
                keyframeAt: shared.keyframeRequests[rendition]?.nextDeadline,
                bitrate: shared.targetBitrate
            )
        }
    }

    /// Sends a frame to all viewers of its rendition, unless its picture was taken before the horizon.
    package func take(_ bytes: Span<UInt8>, _ frame: EncodedFrame) {
        let bytes = bytes.withUnsafeBufferPointer { Array($0) }
        let now: Instant = MonotonicClock.now()
        let rendition = frame.rendition
        let mustWakeSender = shared.withLock { shared -> (@Sendable () -> Void)? in
            if frame.isKeyframe { shared.incomplete.remove(rendition) }
            guard shared.frames.count < Self.frameLimit, !shared.incomplete.contains(rendition) else {
                shared.incomplete.insert(rendition)
                // A keyframe that is dropped begins the hold-off too: the next one would be dropped as well.
                if frame.isKeyframe {
                    shared.keyframeRequests[rendition, default: KeyframeRequests()].keyframeSent(at: now)
                }
                shared.keyframeRequests[rendition, default: KeyframeRequests()].request()
                return shared.wakeSender
            }
            shared.frames.append((bytes, frame))
            if frame.isKeyframe {
                shared.keyframeRequests[rendition, default: KeyframeRequests()].keyframeSent(at: now)
            }
            return nil
        }
        mustWakeSender?()
        waker.wake()
    }

    /// Changes what it demands of the encoder, and the pace of each viewer with that: bits a second.
    package func setTargetBitrate(_ bitrate: Int) {
        let wakeSender = shared.withLock { shared in
            shared.targetBitrate = bitrate
            return shared.wakeSender
        }
        waker.wake()
        wakeSender?()
    }

    /// Viewers that take the rendition go on with it, at a keyframe.
    package func prefer(_ rendition: Rendition.ID) {
        shared.withLock { $0.preferred = rendition }
        waker.wake()
    }

    /// The page is told by the service.
    package func note(_ condition: BroadcastCondition) { report(.broadcast(condition)) }

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

    /// Whether there is such a session, or one that was kicked, whose name nobody knows but its viewer.
    package func hasSession(_ id: String) -> Bool {
        shared.withLock { $0.sessions.contains(id) || $0.kicked.contains(id) }
    }

    /// Whether the viewer of a session was sent away lately.
    package func wasKicked(_ id: String) -> Bool { shared.withLock { $0.kicked.contains(id) } }

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

    /// Sends a viewer away.
    ///
    /// - Parameter number: as `viewers` tells it.
    /// - Returns: whether there is such a viewer.
    package func kick(_ number: Int) -> Bool {
        viewers.contains { $0.number == number } && enqueue(.kick(number: number))
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

    func noteKicked(_ id: String) {
        shared.withLock { shared in
            shared.kicked.append(id)
            shared.kicked.removeFirst(max(0, shared.kicked.count - Self.kickedLimit))
        }
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
