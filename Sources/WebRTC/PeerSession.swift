package import Media
package import RTP
package import Time

/// One peer, from ICE's path to protected packets of its streams, without sockets and clock.
///
/// After each call that changes it, drain the session with `poll`. Call that again when `nextDeadline` comes or a
/// history has grown.
package struct PeerSession: ~Copyable {
    /// The reason why a session ended.
    package enum End: Error, Equatable, CustomStringConvertible {
        /// The peer said goodbye.
        case closedByPeer
        /// This side said goodbye.
        case closed
        /// The path is gone: connectivity checks failed, consent expired, or nothing arrives there any more.
        case pathLost
        /// There was no secure path after `setupLimit`.
        case timeout
        case insecure(DTLSError)

        package var description: String {
            switch self {
            case .closedByPeer: "left"
            case .closed: "was disconnected"
            case .pathLost: "is out of reach"
            case .timeout: "did not connect in time"
            case .insecure(let error): "was refused: \(error)"
            }
        }
    }

    private enum State {
        /// ICE has found no path yet.
        case connecting
        /// There is a path, and no keys.
        case handshaking
        case established(SRTPSession)
        case ended(End)
    }

    /// The longest time until there are keys.
    static let setupLimit = Duration.seconds(15)
    /// After this time, packets that the system did not accept are offered again.
    static let retryInterval = Duration.milliseconds(5)
    /// Bytes of the largest datagram. A path with smaller ones is not worth a video stream.
    package static let maximumDatagramSize = 1200
    /// Bytes of an RTP payload that make a datagram of that size.
    package static let maximumPayloadSize = maximumDatagramSize - OutgoingStream.overhead - 16

    private var state = State.connecting
    private let dtls: DTLSConnection
    package var streams: StreamBundle
    /// The received streams; nil if there are none.
    private var incoming: IncomingBundle?
    private var work: WorkBudget
    /// When keys must be there.
    private let setupEnd: Instant
    /// Protected packets that the system has not accepted yet.
    private var held: [[UInt8]] = []
    /// When they are offered again; nil while there are none.
    private var retryAt: Instant?
    /// The SSRCs that have sent RTCP without a goodbye: at most those that `SRTPSession` accepts.
    private var sources: Set<UInt32> = []

    /// - Parameters:
    ///   - role: the side that begins the handshake, according to the descriptions.
    ///   - fingerprints: those in the peer's description.
    ///   - incoming: from the same agreement as `streams`; nil if this side receives nothing.
    package init(
        _ role: DTLSRole,
        expecting fingerprints: [Fingerprint],
        streams: StreamBundle,
        incoming: IncomingBundle? = nil,
        identity: DTLSIdentity,
        now: Instant
    ) throws(DTLSError) {
        dtls = try DTLSConnection(role, identity: identity, expected: fingerprints)
        self.streams = streams
        self.incoming = incoming
        work = WorkBudget(sendsVideo: incoming?.takesVideo ?? false)
        setupEnd = now + Self.setupLimit
    }

    package var end: End? { if case .ended(let end) = state { end } else { nil } }

    package var profile: SRTPProfile? { if case .established(let session) = state { session.profile } else { nil } }

    /// Whether the peer needs a new keyframe of a stream. True comes once for a request.
    package mutating func takeKeyframeRequest(of mid: String, at now: Instant) -> Bool {
        guard case .established = state else { return false }
        return streams.takeKeyframeRequest(of: mid, at: now)
    }

    /// Drops the packets that the system has not accepted: their pictures must not be seen any more. The peer then
    /// needs keyframes.
    package mutating func forgetHeld() {
        guard !held.isEmpty else { return }
        held.removeAll()
        retryAt = nil
        streams.notePacketsDropped()
    }

    // MARK: - Input

    /// ICE has found a path for datagrams.
    package mutating func pathFound() {
        guard case .connecting = state else { return }
        state = .handshaking
        dtls.start()
        noteHandshake()
    }

    /// The path has another local end, so the estimate of the link no longer holds.
    package mutating func pathMoved(at now: Instant) {
        if case .established = state { streams.linkChanged(at: now) }
    }

    /// ICE has given up, or the peer's consent has run out.
    package mutating func pathLost() { finish(.pathLost) }

    /// Receives a datagram that is not STUN (RFC 7983), unless the peer has made too much work.
    package mutating func receive(_ datagram: UnsafeRawBufferPointer, now: Instant) {
        guard datagram.count >= 2, work.take(datagramOf: datagram.count, at: now) else { return }
        switch (datagram[0], datagram[1]) {
        case (20...63, _):
            dtls.receive(datagram)
            noteHandshake()
        // Other types of packet are RTP (RFC 5761 §4).
        case (128...191, 192...223):
            guard case .established(let session) = state, let (source, opened) = session.openRTCP(datagram),
                let packets = try? RTCPPacket.parse(opened, takesTransportFeedback: streams.estimator != nil)
            else { return }
            sources.insert(source)
            for packet in packets { receive(packet, now: now) }
        case (128...191, _):
            guard incoming != nil, case .established(let session) = state, let opened = session.openRTP(datagram)
            else { return }
            incoming!.receive(opened, now: now)
        default: break
        }
    }

    /// Receives a packet of RTCP. A peer has left when all SSRCs that it has used have said goodbye (RFC 3550 §6.6).
    private mutating func receive(_ packet: RTCPPacket, now: Instant) {
        guard case .goodbye(let ssrcs) = packet else {
            incoming?.receive(packet, now: now)
            return streams.receive(packet, now: now)
        }
        sources.subtract(ssrcs)
        if incoming?.hasReceived ?? false { return incoming!.end(ssrcs) }
        if sources.isEmpty, !ssrcs.isEmpty { finish(.closedByPeer) }
    }

    package mutating func takeFrames() -> [ReceivedFrame] { incoming?.takeFrames() ?? [] }

    package mutating func takeSound() -> [ReceivedSound] { incoming?.takeSound() ?? [] }

    /// Asks the peer for keyframes with the next `poll`: the received frames cannot be used.
    package mutating func requestKeyframes() { incoming?.requestKeyframes() }

    // MARK: - Output

    /// Passes datagrams that may leave at `now` to `send`, until it takes fewer than it gets. Then the system accepts
    /// no more for now, and the rest is offered again.
    ///
    /// - Parameters:
    ///   - batch: its content is lost.
    ///   - send: returns how many datagrams were accepted, from the first on.
    package mutating func poll(
        at now: Instant,
        in batch: inout DatagramBatch,
        send: (borrowing DatagramBatch) -> Int
    ) {
        if dtls.timeout == .zero {
            dtls.handleTimeout()
            noteHandshake()
        }
        sendHandshake(in: &batch, send)
        switch state {
        case .connecting, .handshaking:
            if now >= setupEnd { finish(.timeout) }
        case .established(let session):
            sendStreams(session, at: now, in: &batch, send)
            if streams.isLost(at: now) { finish(.pathLost) }
        case .ended: break
        }
    }

    private mutating func sendStreams(
        _ session: SRTPSession,
        at now: Instant,
        in batch: inout DatagramBatch,
        _ send: (borrowing DatagramBatch) -> Int
    ) {
        for datagram in held { batch.append(datagram) }
        held.removeAll()
        retryAt = nil
        var hasMore = true
        repeat {
            // Held packets go first, and alone.
            if batch.isEmpty { hasMore = fill(&batch, session, at: now) }
            let count = batch.isEmpty ? 0 : send(batch)
            if count < batch.count {
                held = (count..<batch.count).map { Array(batch[$0]) }
                retryAt = now + Self.retryInterval
                hasMore = false
            }
            batch.removeAll()
        } while hasMore
    }

    /// Writes packets that may leave at `now`. Returns false if there are no more.
    private mutating func fill(_ batch: inout DatagramBatch, _ session: SRTPSession, at now: Instant) -> Bool {
        while !batch.isFull {
            let hasWritten =
                batch.append { session.protectRTP(&$0) { streams.writeNext(at: now, to: &$0) } }
                || batch.append { session.protectRTCP(&$0) { streams.writeReport(at: now, to: &$0) } }
                || batch.append { session.protectRTCP(&$0) { writeFeedback(at: now, to: &$0) } }
            if !hasWritten { return false }
        }
        return true
    }

    private mutating func writeFeedback(at now: Instant, to bytes: inout [UInt8]) -> Bool {
        guard incoming != nil else { return false }
        return incoming!.writeFeedback(
            as: streams.streams[0].ssrc,
            named: streams.canonicalName,
            roundTripTime: streams.roundTripTime,
            at: now,
            to: &bytes
        )
    }

    /// The latest time of the next `poll`; nil if the session is over. May lie in the past.
    package func nextDeadline(at now: Instant) -> Instant? {
        switch state {
        case .connecting, .handshaking:
            dtls.timeout.map { min(setupEnd, now + $0) } ?? setupEnd
        case .established: retryAt ?? earliest(streams.nextDeadline, incoming?.nextDeadline)
        case .ended: nil
        }
    }

    /// Says goodbye.
    ///
    /// - Parameter end: the reason why the session ends.
    package mutating func close(
        at now: Instant,
        _ end: End,
        in batch: inout DatagramBatch,
        send: (borrowing DatagramBatch) -> Int
    ) {
        if case .established(let session) = state {
            batch.append { session.protectRTCP(&$0) { streams.writeGoodbye(at: now, to: &$0) } }
            dtls.close()
            sendHandshake(in: &batch, send)
        }
        finish(end)
    }

    private mutating func finish(_ end: End) {
        if case .ended = state { return }
        state = .ended(end)
    }

    private mutating func noteHandshake() {
        switch (dtls.state, state) {
        case (.established(let keys), .connecting), (.established(let keys), .handshaking):
            if let session = SRTPSession(keys) {
                state = .established(session)
            } else {
                finish(.insecure(.noSRTPProfile))
            }
        case (.closed, _): finish(.closedByPeer)
        case (.failed(let error), _): finish(.insecure(error))
        default: break
        }
    }

    /// Datagrams that the system does not accept are lost. DTLS repeats its handshake by itself.
    private func sendHandshake(in batch: inout DatagramBatch, _ send: (borrowing DatagramBatch) -> Int) {
        for datagram in dtls.takeDatagrams() { batch.append(datagram) }
        if !batch.isEmpty { _ = send(batch) }
        batch.removeAll()
    }
}
