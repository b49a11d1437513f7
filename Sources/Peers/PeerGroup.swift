package import ICE
package import Media
package import Posix
import RTP
import Synchronization
package import Time
package import WebRTC

/// Any number of peers over WebRTC: one encode and one packetization for all of a rendition.
///
/// Frames come from the encoders' threads. A thread of the group runs the peers' sessions. Signalling happens there too, by `perform`. Close
/// the group: until then its thread keeps it alive.
package final class PeerGroup: MediaSink {
    package struct Configuration: Sendable {
        /// It has the same number of rungs for each codec, at least one. Packets leave at up to five times its target. Whether it offers sound is
        /// asked for each offer; a peer whose offer asks for sound gets it anyway.
        package let media: SentMedia
        package let ice: ICEAgent.Configuration
        package var firstNumber = 1
        // The next three are called on the network thread.
        /// The machine has other addresses than before.
        package var addressesChanged: @Sendable (Set<String>) -> Void = { _ in }
        package var suspended: @Sendable (Duration) -> Void = { _ in }
        /// A peer has waited for a STUN or TURN server in vain, or does without one that is silent.
        package var serversDoubted: @Sendable () -> Void = {}

        package init(_ media: SentMedia, ice: ICEAgent.Configuration) { (self.media, self.ice) = (media, ice) }

        func rendition(_ id: Rendition.ID) -> Rendition { media.renditions.first { $0.id == id }! }
    }

    /// The input of a round of the network thread.
    struct Work {
        var tasks: [@Sendable (PeerLoop) -> Void] = []
        var frames: [(bytes: [UInt8], frame: EncodedFrame)] = []
        var sound: [(packet: [UInt8], description: EncodedSound)] = []
        var isClosed = false
        /// The best codec for the picture, by rung.
        var preferred: [Int: VideoCodec] = [:]
        /// STUN and TURN servers that peers do without.
        var silentServers: [ICEServer] = []
    }

    private struct Shared: ~Copyable {
        var work = Work()
        /// Renditions with receivers, also with ones that have no path yet.
        var renditionsInUse: Set<Rendition.ID> = []
        var keyframeRequests: [Rendition.ID: KeyframeRequests] = [:]
        var capacities: [Rendition.ID: RenditionCapacity] = [:]
        var soundDemand = SoundDemand.none
        var wakeSender: (@Sendable () -> Void)?
        var statuses: [PeerStatus] = []
        var totals = PeerTotals()
        /// Renditions with a dropped frame, which cannot be decoded before the next keyframe.
        var incomplete: Set<Rendition.ID> = []
    }

    /// The most frames, and packets of sound, that wait for the network thread; others are dropped.
    private static let (frameLimit, soundLimit) = (16, 50)

    package let configuration: Configuration
    private let shared = Mutex(Shared())
    private let waker: ICELoop.Waker
    private let thread = Mutex<Thread?>(nil)
    /// The fingerprint of the certificate for all peers.
    package let fingerprint: Fingerprint

    /// Starts the network thread.
    ///
    /// - Parameter suspends: tells when the machine was suspended; nil if nothing does.
    package init(_ configuration: Configuration, suspends: sending SuspendWatch? = try? SuspendWatch()) throws {
        self.configuration = configuration
        let identity = try DTLSIdentity()
        fingerprint = identity.fingerprint
        let loop = ICELoop()
        waker = loop.waker
        let peers = PeerLoop(configuration, identity: identity, loop: loop, suspends: suspends)
        // The loop is used by the thread alone from here on.
        nonisolated(unsafe) let owned = peers
        try thread.withLock { thread in thread = try Thread { [self] in owned.run(for: self) } }
    }

    // MARK: - The sender's side

    package func setWaker(_ wake: @escaping @Sendable () -> Void) { shared.withLock { $0.wakeSender = wake } }

    /// Each peer has its own pace. The encoder follows the links of most peers on its rung.
    package func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        shared.withLock { shared in
            guard shared.renditionsInUse.contains(rendition) else { return .none }
            var demand = Demand(isWanted: true)
            demand.keyframeAt = shared.keyframeRequests[rendition]?.nextDeadline
            guard let capacity = shared.capacities[rendition] else { return demand }
            demand.isFullUntil = capacity.isFullUntil
            (demand.limit, demand.linkRate) = (capacity.limit, capacity.linkRate)
            demand.measuresLink = capacity.measuresLink
            return demand
        }
    }

    /// Sends a frame to all peers with its rendition, unless its picture is from before the horizon.
    package func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) {
        let bytes = bytes.withUnsafeBufferPointer { Array($0) }
        let now: Instant = MonotonicClock.now()
        let rendition = frame.rendition
        change { shared in
            if frame.isKeyframe {
                shared.incomplete.remove(rendition)
                // A keyframe that is dropped counts too: the next one would be dropped as well.
                shared.keyframeRequests[rendition, default: KeyframeRequests()].keyframeSent(at: now)
            }
            guard shared.work.frames.count < Self.frameLimit, !shared.incomplete.contains(rendition) else {
                shared.incomplete.insert(rendition)
                shared.keyframeRequests[rendition, default: KeyframeRequests()].request()
                return true
            }
            shared.work.frames.append((bytes, frame))
            return false
        }
        waker.wake()
    }

    package func soundDemand(at now: Instant) -> SoundDemand { shared.withLock { $0.soundDemand } }

    package func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {
        let packet = packet.withUnsafeBufferPointer { Array($0) }
        shared.withLock { shared in
            if shared.work.sound.count < Self.soundLimit { shared.work.sound.append((packet, sound)) }
        }
        waker.wake()
    }

    /// The targets of the encoders at work, in bits a second, as the links allow them.
    package var targetBitrates: [Rendition.ID: Int] {
        let target = configuration.media.target.bitsPerSecond
        return shared.withLock { $0.capacities.mapValues { min($0.limit ?? target, target) } }
    }

    /// The target of the encoder whose frames a peer gets, in bits a second; nil if that has not begun.
    package func targetBitrate(for peer: PeerStatus) -> Int? {
        peer.rendition.flatMap { targetBitrates[$0.id] }
    }

    /// Peers on the rendition's rung that take its codec go on with it, at a keyframe.
    package func prefer(_ rendition: Rendition) {
        shared.withLock { $0.work.preferred[rendition.rung] = rendition.codec }
        waker.wake()
    }

    // MARK: - The signalling side

    /// Lets peers do without these STUN and TURN servers from now on, and use all others again.
    package func leaveOut(_ silent: [ICEServer]) {
        shared.withLock { $0.work.silentServers = silent }
        waker.wake()
    }

    /// Runs a task on the network thread, in the order of the calls.
    ///
    /// - Returns: false if the group is closed; the task does not run then.
    package func perform(_ task: @escaping @Sendable (PeerLoop) -> Void) -> Bool {
        let isOpen = shared.withLock { shared in
            if !shared.work.isClosed { shared.work.tasks.append(task) }
            return !shared.work.isClosed
        }
        waker.wake()
        return isOpen
    }

    /// All peers, renewed each second and when one comes or goes.
    package var statuses: [PeerStatus] { shared.withLock { $0.statuses } }

    /// Renewed as `statuses` are.
    package var totals: PeerTotals { shared.withLock { $0.totals } }

    /// Says goodbye to all peers and ends the thread. Further calls do nothing.
    package func close() {
        shared.withLock { $0.work.isClosed = true }
        waker.wake()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - The network thread's side

    func takeWork() -> Work {
        shared.withLock { shared in
            defer {
                shared.work.tasks.removeAll()
                shared.work.frames.removeAll()
                shared.work.sound.removeAll()
            }
            return shared.work
        }
    }

    func publish(_ statuses: [PeerStatus], _ totals: PeerTotals, _ renditions: Set<Rendition.ID>) {
        change { shared in
            (shared.statuses, shared.totals) = (statuses, totals)
            return exchange(&shared.renditionsInUse, with: renditions) != renditions
        }
    }

    func publish(_ capacities: [Rendition.ID: RenditionCapacity], _ soundDemand: SoundDemand) {
        change { shared in
            defer { (shared.capacities, shared.soundDemand) = (capacities, soundDemand) }
            // Full or not, a sender that has something to encode looks by itself.
            return soundDemand != shared.soundDemand
                || capacities.contains { id, capacity in
                    let before = shared.capacities[id]
                    return capacity.limit != before?.limit || capacity.measuresLink != before?.measuresLink
                }
        }
    }

    func request(_ keyframes: [Rendition.ID]) {
        change { shared in
            for id in keyframes { shared.keyframeRequests[id, default: KeyframeRequests()].request() }
            return true
        }
    }

    /// Wakes the sender if the change is news for it.
    private func change(_ isNews: (inout Shared) -> Bool) {
        let wakeSender = shared.withLock { isNews(&$0) ? $0.wakeSender : nil }
        wakeSender?()
    }
}
