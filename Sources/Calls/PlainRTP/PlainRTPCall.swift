import Glibc
package import Media
import Peers
package import Posix
import RTP
import Synchronization
package import Time

/// A video stream to one address over plain RTP: a session, its two sockets and its thread.
///
/// The encoder's thread calls `send`, which sends at once as much as the pace allows. A thread of the call sends the rest, and receives
/// feedback. Close the call: until then its thread keeps it alive.
package final class PlainRTPCall: MediaSink {
    /// The sender makes no frame while the packets of earlier frames need longer than this to leave.
    private static let longestBacklog = Duration.milliseconds(100)
    /// Beside sinks with room, frames come all the same. Behind a large keyframe they wait: dropped, they would need another one.
    private static let longestQueue = Duration.seconds(1)

    private let media: SentMedia
    /// Of RTP. RTCP goes to the port after it.
    package let receiver: SocketAddress
    /// Of RTP. RTCP comes from the port after it.
    package let localAddress: SocketAddress
    private let ports: PortPair
    /// Of sound; empty for a call without.
    private let soundSockets: [Int32]
    private let wake: EventSignal
    private let state: Mutex<State>
    private let thread = Mutex<Thread?>(nil)
    private let waker = Mutex<(@Sendable () -> Void)?>(nil)

    private struct State: ~Copyable {
        var session: PlainRTPSession
        /// Nil for a call without sound.
        var sound: PlainRTPSound?
        /// Packets of the session, of which the system took some.
        var packets = DatagramBatch()
        var packetsTaken = 0
        var reports = DatagramBatch()
        /// Pictures from before this instant are not sent any more.
        var horizon: Instant?
        /// The state of the network thread.
        var activity = Activity.works
        /// Whether a frame was dropped. Nothing can be decoded before the next keyframe then.
        var isIncomplete = false
        /// The last demand that the sender knows.
        var demand = Demand.none
        var isClosed = false

        enum Activity {
            /// It looks for work before it sleeps, or waits for the system to take packets.
            case works
            /// It sleeps until an instant or, if that is nil, until it is woken.
            case sleeps(until: Instant?)
        }

        /// Whether the system's send buffer is full.
        var isBlocked: Bool { packetsTaken < packets.count }

        /// When there is something to send; nil while there is not.
        var nextDeadline: Instant? { earliest(session.nextDeadline, isClosed ? nil : sound?.nextDeadline) }

        /// Whether a picture of that instant must not be sent any more.
        func isPast(_ instant: Instant) -> Bool { horizon.map { instant < $0 } ?? false }

        /// Whether the network thread must be woken because it sleeps beyond its next deadline. The answer is given once.
        mutating func takesWake() -> Bool {
            switch activity {
            case .works: return isBlocked
            case .sleeps(let end):
                guard isBlocked || nextDeadline.map({ next in end.map { next < $0 } ?? true }) ?? false else {
                    return false
                }
                activity = .works
                return true
            }
        }
    }

    /// Opens the sockets and starts the thread.
    ///
    /// - Parameters:
    ///   - receiver: for RTP. RTCP goes to the port after it.
    ///   - media: its first rendition is sent. Packets leave at up to five times the target. Sound goes to the two ports after those of
    ///     pictures, if there are any.
    ///   - localPort: of RTP, 1…65534. RTCP comes from the port after it. Nil chooses an even one.
    package init(to receiver: SocketAddress, _ media: SentMedia, localPort: UInt16? = nil) throws(CallEnd) {
        (self.receiver, self.media) = (receiver, media)
        ports = try PortPair(to: receiver, localPort: localPort)
        var random = SystemRandomNumberGenerator()
        let clock = ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock())
        let hasSound = media.offersSound() && PlainRTPSound.fits(besides: receiver.port, from: localPort)
        let session = PlainRTPSession(
            PlainRTPSession.Configuration(
                codec: media.renditions[0].codec,
                targetBitrate: UInt64(media.target.bitsPerSecond),
                hasSound: hasSound
            ),
            clock: clock,
            isMulticast: receiver.isMulticast,
            refusalsAreLimited: !receiver.isLoopback,
            using: &random
        )
        var sound: PlainRTPSound?
        if hasSound {
            sound = try PlainRTPSound(
                besides: receiver,
                from: localPort,
                name: session.canonicalName,
                clock: clock,
                using: &random
            )
        }
        soundSockets = sound?.sockets ?? []
        state = Mutex(State(session: session, sound: sound))
        do throws(SystemError) {
            localAddress = try ports.rtp.localAddress()
            wake = try EventSignal()
            try thread.withLock { thread throws(SystemError) in thread = try Thread { [self] in run() } }
        } catch {
            throw .sockets(error)
        }
    }

    // MARK: - The sender's side

    package func setWaker(_ wake: @escaping @Sendable () -> Void) { waker.withLock { $0 = wake } }

    package func demand(for rendition: Rendition.ID, at now: Instant) -> Demand {
        rendition == media.renditions[0].id ? state.withLock { demand(&$0, at: now) } : .none
    }

    /// Packetizes one encoded frame, and sends as much as the pace allows. If too much waits, or the picture is beyond the horizon, the frame
    /// is dropped and a keyframe demanded.
    package func send(_ bytes: Span<UInt8>, _ frame: EncodedFrame) {
        let bytes = bytes.withUnsafeBufferPointer { Array($0) }
        let now: Instant = MonotonicClock.now()
        let mustWake = state.withLock { state in
            forgetPast(&state)
            let isFull = state.session.backlog(at: now) > Self.longestQueue
            if isFull { state.isIncomplete = true }
            guard !state.isPast(frame.captureTime), !isFull, frame.isKeyframe || !state.isIncomplete else {
                state.session.requestKeyframe()
                return false
            }
            state.isIncomplete = false
            state.session.send(bytes, frame, now: now)
            flush(&state, now: now)
            return state.takesWake()
        }
        if mustWake { wake.set() }
    }

    /// Does nothing: the session description of a plain receiver names one codec.
    package func prefer(_ rendition: Rendition) {}

    /// Receivers that learn of sound by the description may wait for it before they show anything.
    package func soundDemand(at now: Instant) -> SoundDemand {
        state.withLock { state in
            guard let statistics = state.sound?.statistics, state.session.receiverListening, !state.isClosed else {
                return .none
            }
            return SoundDemand(isWanted: true, lossRatio: statistics.lossFraction ?? 0, isKeptAlive: true)
        }
    }

    /// Sends a packet of sound, unless it is from before the horizon.
    package func send(sound packet: Span<UInt8>, _ sound: EncodedSound) {
        let packet = packet.withUnsafeBufferPointer { Array($0) }
        let now: Instant = MonotonicClock.now()
        let mustWake = state.withLock { state in
            guard !state.isClosed, media.soundHorizon().map({ sound.capturedAt >= $0 }) ?? true else { return false }
            state.sound?.send(packet, sound, now: now)
            return state.takesWake()
        }
        if mustWake { wake.set() }
    }

    private func demand(_ state: inout State, at now: Instant) -> Demand {
        guard state.session.receiverListening, !state.isClosed else { return .none }
        let backlog = state.session.backlog(at: now)
        let link = state.session.linkRate.map { RenditionCapacity.Link(estimate: $0, backlog: backlog) }
        let capacity = RenditionCapacity(link.map { [$0] } ?? [], most: media.target.bitsPerSecond, at: now)
        var demand = Demand(isWanted: true)
        demand.keyframeAt = state.session.keyframeAt
        demand.keyframeInterval = media.keyframeInterval
        demand.isFullUntil = backlog > Self.longestBacklog ? now + (backlog - Self.longestBacklog) : nil
        (demand.limit, demand.linkRate) = (capacity.limit, capacity.linkRate)
        // Not every plain receiver takes a picture of another size, nor does every program behind it.
        demand.keepsSize = true
        return demand
    }

    // MARK: - The session

    package var statistics: PlainRTPStatistics { state.withLock { $0.session.statistics } }

    package var sessionDescription: String {
        state.withLock { state in
            followTarget(&state)
            return state.session.configuration.description(
                state.session.ssrc,
                for: receiver,
                from: localAddress,
                frameRate: media.renditions[0].framesPerSecond
            )
        }
    }

    /// Says goodbye and ends the thread. Packets that still wait are dropped. Further calls do nothing.
    package func close() {
        state.withLock { state in
            state.isClosed = true
            // Nothing may follow the goodbye.
            state.packets.removeAll()
            state.packetsTaken = 0
            state.session.end(now: MonotonicClock.now(), rtcp: &state.reports)
            sendReports(&state)
            state.sound?.end(now: MonotonicClock.now())
        }
        wake.set()
        thread.withLock { $0.take() }?.join()
    }

    // MARK: - Sending, under the lock

    private func forgetPast(_ state: inout State) {
        guard let horizon = media.horizon(), state.horizon.map({ $0 < horizon }) ?? true else { return }
        state.horizon = horizon
        state.session.forget(takenBefore: horizon, isCut: state.isBlocked)
        state.packets.removeAll()
        state.packetsTaken = 0
    }

    private func flush(_ state: inout State, now: Instant) {
        forgetPast(&state)
        followTarget(&state)
        sendPackets(&state, now: now)
        if state.isBlocked { return }
        // A refusal not yet seen must not pass for the silence of a listener.
        takeRefusal(&state, now: now)
        state.session.nextOutput(now: now, rtp: &state.packets, rtcp: &state.reports)
        sendPackets(&state, now: now)
        // On the loopback, the refusal is there already: reading it now saves the network thread a wake-up.
        takeRefusal(&state, now: now)
        sendReports(&state)
    }

    private func followTarget(_ state: inout State) {
        let bitrate = UInt64(media.target.bitsPerSecond)
        if bitrate != state.session.configuration.targetBitrate { state.session.setTargetBitrate(bitrate) }
    }

    private func forgetPastSound(_ state: inout State) {
        if let horizon = media.soundHorizon() { state.sound?.forget(heardBefore: horizon) }
    }

    private func takeRefusal(_ state: inout State, now: Instant) {
        if !state.session.receiverListening, ports.rtp.takeError() == ECONNREFUSED {
            state.session.refused(now: now)
        }
    }

    private func sendPackets(_ state: inout State, now: Instant) {
        var refusals = 0
        while state.isBlocked {
            do throws(SystemError) {
                state.packetsTaken += try ports.rtp.send(
                    state.packets.bytes,
                    starts: state.packets.starts,
                    ends: state.packets.ends,
                    from: state.packetsTaken
                )
                refusals = 0
            } catch {
                if error.code == EAGAIN { return }
                if error.code == ECONNREFUSED {
                    state.session.refused(now: now)
                    refusals += 1
                    // The error is that of an earlier packet; this one was not tried yet.
                    if refusals < 3 { continue }
                }
                state.session.packetFailed()
                state.packetsTaken += 1
            }
        }
        state.packets.removeAll()
        state.packetsTaken = 0
    }

    private func sendReports(_ state: inout State) {
        var address = receiver
        address.port += 1
        for index in 0..<state.reports.count {
            do throws(SystemError) {
                try ports.rtcp.send(state.reports[index], to: address)
            } catch {
                state.session.packetFailed()
            }
        }
        state.reports.removeAll()
    }

    // MARK: - The network thread

    private func run() {
        var buffer = [UInt8](repeating: 0, count: 2048)
        var items = ([wake.raw, ports.rtp.raw, ports.rtcp.raw] + soundSockets).map { PollItem($0) }
        while true {
            let now: Instant = MonotonicClock.now()
            let (isClosed, isBlocked, isNews, deadline) = state.withLock { state in
                flush(&state, now: now)
                if !state.isClosed {
                    forgetPastSound(&state)
                    state.sound?.flush(now: now)
                }
                let isBlocked = state.isBlocked
                let deadline = isBlocked ? nil : state.nextDeadline
                state.activity = isBlocked ? .works : .sleeps(until: deadline)
                let before = state.demand
                state.demand = demand(&state, at: now)
                let isNews =
                    before.isWanted != state.demand.isWanted || before.limit != state.demand.limit
                    || (state.demand.keyframeAt != nil && state.demand.keyframeAt != before.keyframeAt)
                return (state.isClosed, isBlocked, isNews, deadline)
            }
            if isClosed { return }
            if isNews { waker.withLock { $0 }?() }
            items[1].wantsWrite = isBlocked
            // `poll` fails only for want of kernel memory, and then the next round tries again.
            try? poll(&items, until: deadline)
            if items[0].isReadable { wake.clear() }
            if items[1].isReadable { receive(from: ports.rtp, &buffer) }
            if items[2].isReadable { receive(from: ports.rtcp, &buffer) }
            if items.dropFirst(3).contains(where: \.isReadable) {
                state.withLock { state in
                    forgetPastSound(&state)
                    state.sound?.receive(&buffer, now: MonotonicClock.now())
                }
            }
        }
    }

    /// Receives datagrams up to a limit, so that a flood cannot keep the thread from sending.
    private func receive(from socket: borrowing UDPSocket, _ buffer: inout [UInt8]) {
        for _ in 0..<64 {
            do throws(SystemError) {
                guard let (count, source) = try socket.receive(into: &buffer) else { return }
                let now: Instant = MonotonicClock.now()
                guard receiver.isMulticast || source.bytes == receiver.bytes else { continue }
                state.withLock { $0.session.receive(rtcp: Array(buffer[..<count]), now: now) }
            } catch {
                let now: Instant = MonotonicClock.now()
                if error.code == ECONNREFUSED { state.withLock { $0.session.refused(now: now) } }
            }
        }
    }
}
