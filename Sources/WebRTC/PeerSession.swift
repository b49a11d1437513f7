package import Media
package import RTP
package import Time

/// One peer: from a path that ICE has found to protected packets of its streams, without sockets and clock.
///
/// After each call that changes it, drain the session with `poll`, and call that again when `nextDeadline` comes or a
/// history has grown.
package struct PeerSession: ~Copyable {
    /// Why a session is over.
    package enum End: Error, Equatable, CustomStringConvertible {
        /// The peer said goodbye.
        case closedByPeer
        /// This side said goodbye.
        case closed
        /// The path is gone: connectivity checks failed, consent ran out, or nothing arrives there any more.
        case pathLost
        /// No secure path was there after `setupLimit`.
        case timeout
        case insecure(DTLSError)

        package var description: String {
            switch self {
            case .closedByPeer: "left"
            case .closed: "was sent away"
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

    /// How long it may take until there are keys.
    static let setupLimit = Duration.seconds(15)
    /// After how long packets that the system did not take are offered again.
    static let retryInterval = Duration.milliseconds(5)
    /// Bytes of the largest datagram.
    package static let maximumDatagramSize = 1200
    /// Bytes of an RTP payload that make a datagram of that size.
    package static let maximumPayloadSize = maximumDatagramSize - OutgoingStream.overhead - 16

    private var state = State.connecting
    private let dtls: DTLSConnection
    /// What goes out.
    package var streams: StreamBundle
    /// What comes in; nil where nothing was asked for.
    private var incoming: IncomingBundle?
    private var work: WorkBudget
    /// When keys must be there.
    private let setupEnd: Instant
    /// Protected packets that the system did not take yet.
    private var held: [[UInt8]] = []
    /// When they are offered again; nil while there are none.
    private var retryAt: Instant?
    /// The SSRCs that have sent RTCP and not said goodbye; no more than `SRTPSession` hears.
    private var sources: Set<UInt32> = []

    /// - Parameters:
    ///   - role: who begins the handshake, as the descriptions say.
    ///   - fingerprints: those that the peer's description names.
    ///   - incoming: what was made of the same agreement as `streams`; nil if the peer sends nothing that this side takes.
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

    /// The profile in use; nil before there are keys.
    package var profile: SRTPProfile? { if case .established(let session) = state { session.profile } else { nil } }

    /// Whether the peer needs a keyframe of a stream that is yet to come. The answer is given once.
    package mutating func takeKeyframeRequest(of mid: String, at now: Instant) -> Bool {
        guard case .established = state else { return false }
        return streams.takeKeyframeRequest(of: mid, at: now)
    }

    /// The messages that the peer sent inside of DTLS since the last call, as SCTP needs them (RFC 8261). Messages that nobody
    /// takes are kept up to a limit; beyond it, new ones are dropped as on a lossy path.
    package func takeData() -> [[UInt8]] { dtls.takeData() }

    /// Sends a message inside of DTLS with the next `poll`. Returns false if there are no keys, or it does not fit into a
    /// datagram.
    package mutating func send(data: [UInt8]) -> Bool {
        guard case .established = state else { return false }
        return dtls.send(data)
    }

    /// Drops the packets that the system did not take: their pictures must not be seen any more. The peer needs keyframes
    /// then.
    package mutating func forgetHeld() {
        guard !held.isEmpty else { return }
        held.removeAll()
        retryAt = nil
        streams.notePacketsDropped()
    }

    /// Leaves out sound that comes from now on, as the peer has as much in its buffer.
    package mutating func skipSound(_ length: Duration, at now: Instant) { streams.skipSound(length, at: now) }

    // MARK: - In

    /// ICE has a path that datagrams may take.
    package mutating func pathFound() {
        guard case .connecting = state else { return }
        state = .handshaking
        dtls.start()
        noteHandshake()
    }

    /// The path leads from another address: what is known of the link does not hold there.
    package mutating func pathMoved(at now: Instant) {
        if case .established = state { streams.linkChanged(at: now) }
    }

    /// ICE has given up, or the peer's consent has run out.
    package mutating func pathLost() { finish(.pathLost) }

    /// Takes a datagram that is not STUN (RFC 7983), unless the peer has made too much work.
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

    /// Takes a packet of RTCP. A peer has left when all SSRCs that it has used have said goodbye (RFC 3550 §6.6).
    private mutating func receive(_ packet: RTCPPacket, now: Instant) {
        guard case .goodbye(let goodbye) = packet else {
            incoming?.receive(packet, now: now)
            return streams.receive(packet, now: now)
        }
        sources.subtract(goodbye.ssrcs)
        if incoming?.hasReceived ?? false { return incoming!.end(goodbye.ssrcs) }
        if sources.isEmpty, !goodbye.ssrcs.isEmpty { finish(.closedByPeer) }
    }

    /// The frames that the peer has sent since the last call.
    package mutating func takeFrames() -> [ReceivedFrame] { incoming?.takeFrames() ?? [] }

    /// The sound that the peer has sent since the last call.
    package mutating func takeSound() -> [ReceivedSound] { incoming?.takeSound() ?? [] }

    /// What came is of no use: the peer is asked for keyframes with the next `poll`.
    package mutating func requestKeyframes() { incoming?.requestKeyframes() }

    // MARK: - Out

    /// Gives what may go out at `now` to `send`, until that takes fewer datagrams than it gets: then the system takes no more
    /// for now, and the rest is offered again.
    ///
    /// - Parameters:
    ///   - batch: what it holds is lost.
    ///   - send: returns how many datagrams were taken, from the first on.
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

    /// Writes what may leave at `now`. Returns false if that is all.
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

    /// When `poll` must be called at the latest; nil when the session is over. May lie in the past.
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
    /// - Parameter end: why the session is over.
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

    /// Datagrams that the system does not take are lost: DTLS sends its handshake again by itself, and SCTP its data.
    private func sendHandshake(in batch: inout DatagramBatch, _ send: (borrowing DatagramBatch) -> Int) {
        for datagram in dtls.takeDatagrams() { batch.append(datagram) }
        if !batch.isEmpty { _ = send(batch) }
        batch.removeAll()
    }
}
