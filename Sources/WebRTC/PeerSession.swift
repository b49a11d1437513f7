package import RTP

/// One peer: from a path that ICE has found to protected packets of its streams, without sockets and clock.
///
/// After each call that changes it, drain the session with `poll`, and call that again when `nextDeadline` comes or a
/// history has grown. Instants are nanoseconds of the capture clock.
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

    /// Nanoseconds until keys must be there.
    static let setupLimit: UInt64 = 15_000_000_000
    /// Nanoseconds until a packet is offered again that the system did not take.
    static let retryInterval: UInt64 = 5_000_000
    /// Bytes of the largest datagram.
    package static let maximumDatagramSize = 1200
    /// Bytes of an RTP payload that make a datagram of that size.
    package static let maximumPayloadSize = maximumDatagramSize - OutgoingStream.overhead - 16

    private var state = State.connecting
    private let dtls: DTLSConnection
    /// What goes out.
    package private(set) var streams: StreamBundle
    private let createdAt: UInt64
    /// Where packets are written and protected; aligned as libsrtp asks.
    private let scratch: UnsafeMutableRawBufferPointer
    /// Bytes of the protected packet that the system did not take yet, in `scratch`.
    private var heldCount = 0
    /// When it is offered again.
    private var retryAt: UInt64 = 0
    private var bytes: [UInt8] = []
    /// Those that have sent RTCP and not said goodbye; no more than `SRTPSession` hears.
    private var sources: Set<UInt32> = []

    /// - Parameters:
    ///   - role: who begins the handshake, as the descriptions say.
    ///   - fingerprints: those that the peer's description names.
    package init(
        _ role: DTLSRole,
        expecting fingerprints: [Fingerprint],
        streams: StreamBundle,
        identity: DTLSIdentity,
        now: UInt64
    ) throws(DTLSError) {
        dtls = try DTLSConnection(role, identity: identity, expected: fingerprints)
        self.streams = streams
        createdAt = now
        scratch = .allocate(byteCount: Self.maximumDatagramSize + SRTPSession.trailerSize + 256, alignment: 16)
        bytes.reserveCapacity(scratch.count)
    }

    deinit { scratch.deallocate() }

    package var end: End? { if case .ended(let end) = state { end } else { nil } }

    /// The profile in use; nil before there are keys.
    package var profile: SRTPProfile? { if case .established(let session) = state { session.profile } else { nil } }

    /// Whether the peer needs a keyframe of a stream that is yet to come. The answer is given once.
    package mutating func takeKeyframeRequest(of mid: String, at now: UInt64) -> Bool {
        guard case .established = state else { return false }
        return streams.takeKeyframeRequest(of: mid, at: now)
    }

    /// Goes on with another codec in the stream of the same mid.
    ///
    /// - Parameter history: packets of that codec.
    package mutating func change(to format: Negotiation.Format, from history: PacketHistory) {
        streams.change(to: format.parameters, from: history)
    }

    /// Follows another bitrate of the encoders.
    package mutating func setPace(_ pace: Pacer.Pace) { streams.setPace(pace) }

    /// What the peer sent inside of DTLS since the last call, a message each, as SCTP needs (RFC 8261). What nobody takes is
    /// kept up to a bound; beyond that, new messages are dropped as on a lossy path.
    package func takeData() -> [[UInt8]] { dtls.takeData() }

    /// Sends a message inside of DTLS with the next `poll`. Returns false if there are no keys, or it does not fit into a
    /// datagram.
    package mutating func send(data: [UInt8]) -> Bool {
        guard case .established = state else { return false }
        return dtls.send(data)
    }

    /// Drops the packet that the system did not take: its picture must not be seen any more. The peer needs a
    /// keyframe then.
    package mutating func forgetHeld() {
        guard heldCount > 0 else { return }
        heldCount = 0
        streams.notePacketDropped()
    }

    // MARK: - In

    /// ICE has a path that datagrams may take.
    package mutating func pathFound() {
        guard case .connecting = state else { return }
        state = .handshaking
        dtls.start()
        noteHandshake()
    }

    /// ICE has given up, or the peer's consent has run out.
    package mutating func pathLost() { finish(.pathLost) }

    /// Takes a datagram that is not STUN (RFC 7983).
    package mutating func receive(_ datagram: UnsafeRawBufferPointer, now: UInt64) {
        guard datagram.count >= 2 else { return }
        switch (datagram[0], datagram[1]) {
        case (20...63, _):
            dtls.receive(datagram)
            noteHandshake()
        // RFC 5761 §4: what is neither is RTP, and this side asked for none.
        case (128...191, 192...223):
            guard case .established(let session) = state, let opened = session.openRTCP(datagram),
                let packets = try? RTCPPacket.parse(opened)
            else { return }
            // RFC 3550 §6.4: who sends them is named first.
            if let first = opened.withUnsafeBytes({ bytes in
                bytes.count >= 8 ? UInt32(bigEndian: bytes.loadUnaligned(fromByteOffset: 4, as: UInt32.self)) : nil
            }) {
                sources.insert(first)
            }
            for packet in packets { take(packet, now: now) }
        default: break
        }
    }

    /// A peer has left when all that it has sent as have said goodbye (RFC 3550 §6.6).
    private mutating func take(_ packet: RTCPPacket, now: UInt64) {
        guard case .goodbye(let goodbye) = packet else { return streams.receive(packet, now: now) }
        sources.subtract(goodbye.ssrcs)
        if sources.isEmpty, !goodbye.ssrcs.isEmpty { finish(.closedByPeer) }
    }

    // MARK: - Out

    /// Gives what may go out at `now` to `send`, one datagram at a time, until that returns false: then the system takes no
    /// more for now, and the same datagram is offered again.
    package mutating func poll(at now: UInt64, send: (UnsafeRawBufferPointer) -> Bool) {
        if let timeout = dtls.timeout, timeout == 0 {
            dtls.handleTimeout()
            noteHandshake()
        }
        sendHandshake(send)
        switch state {
        case .connecting, .handshaking:
            if now >= createdAt.adding(clamped: Self.setupLimit) { finish(.timeout) }
        case .established(let session):
            bytes.removeAll(keepingCapacity: true)
            var takes = flush(at: now, send)
            while takes, streams.writeNext(at: now, to: &bytes) {
                takes = seal(at: now, send) { session.protectRTP($0, count: $1) }
            }
            if takes, streams.writeReport(at: now, to: &bytes) {
                _ = seal(at: now, send) { session.protectRTCP($0, count: $1) }
            }
            if streams.isLost(at: now) { finish(.pathLost) }
        case .ended: break
        }
    }

    /// When `poll` must be called at the latest; nil when the session is over. May lie in the past.
    package func nextDeadline(at now: UInt64) -> UInt64? {
        switch state {
        case .connecting, .handshaking:
            let limit = createdAt.adding(clamped: Self.setupLimit)
            return dtls.timeout.map { min(limit, now.adding(clamped: $0)) } ?? limit
        case .established: return heldCount > 0 ? retryAt : streams.nextDeadline
        case .ended: return nil
        }
    }

    /// Says goodbye.
    ///
    /// - Parameter end: why the session is over.
    package mutating func close(at now: UInt64, _ end: End, send: (UnsafeRawBufferPointer) -> Bool) {
        if case .established(let session) = state {
            bytes.removeAll(keepingCapacity: true)
            if streams.writeGoodbye(at: now, to: &bytes) {
                _ = seal(at: now, send) { session.protectRTCP($0, count: $1) }
            }
            dtls.close()
            sendHandshake(send)
        }
        finish(end)
    }

    // MARK: -

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

    /// What is not taken, DTLS sends again by itself.
    private func sendHandshake(_ send: (UnsafeRawBufferPointer) -> Bool) {
        for datagram in dtls.takeDatagrams() { _ = datagram.withUnsafeBytes { send($0) } }
    }

    /// Protects what was written, sends it and forgets it. Returns whether it was taken, and more may follow.
    private mutating func seal(
        at now: UInt64,
        _ send: (UnsafeRawBufferPointer) -> Bool,
        _ protect: (UnsafeMutableRawBufferPointer, Int) -> Int?
    ) -> Bool {
        defer { bytes.removeAll(keepingCapacity: true) }
        guard bytes.count + SRTPSession.trailerSize <= scratch.count else { return true }
        scratch.copyBytes(from: bytes)
        heldCount = protect(scratch, bytes.count) ?? 0
        return flush(at: now, send)
    }

    /// Sends what is protected and was not taken yet. Returns whether nothing is left of it.
    private mutating func flush(at now: UInt64, _ send: (UnsafeRawBufferPointer) -> Bool) -> Bool {
        if heldCount > 0, !send(UnsafeRawBufferPointer(rebasing: scratch[..<heldCount])) {
            retryAt = now.adding(clamped: Self.retryInterval)
            return false
        }
        heldCount = 0
        return true
    }
}
