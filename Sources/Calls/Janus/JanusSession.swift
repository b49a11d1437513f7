package import Media
package import Time

/// Publishes into a VideoRoom of Janus by its API over a WebSocket: makes a session and a handle in it, joins the room with this
/// side's offer, keeps the session alive, and leaves. A lost publication is made again. After the loss of a WebSocket alone, the session is
/// claimed back. On another network, ICE restarts. Sans-IO: after each call perform the result of `takeOutputs`, and call `tick` at
/// `nextDeadline`.
package struct JanusSession: Sendable {
    package enum Output: Sendable, Equatable {
        /// Open a WebSocket with the subprotocol `janus-protocol`. Pass its events on with `opened`, `received` and `lost`.
        case openSocket
        /// Close it after all messages have left. Its further events are ignored.
        case closeSocket
        case send(String)
        /// Have a peer offer, and pass that on with `described`.
        case offer
        case closePeer
        case accept(sdp: String)
        /// A line `candidate:…`.
        case addCandidate(line: String)
        /// Have the peer prepare another generation of ICE, and pass that on with `proposed`.
        case propose
        /// Have the peer take the answer to that, or forget it.
        case acceptProposal(sdp: String)
        case abandonProposal
        /// The call is lost for now.
        case retrying(why: String)
        /// The server is there again, and the picture went on.
        case resumed
        /// The last output; nil if it was left.
        case ended(CallEnd?)
    }

    /// A handle of the VideoRoom in a session.
    struct Place {
        let session: Int
        let handle: Int
    }

    struct Request {
        let transaction: String
        let until: Instant
    }

    enum State {
        case idle
        /// The WebSocket is on its way; the place that is to be claimed by it, if there is one.
        case opening(claiming: Place?)
        case creating(Request)
        case claiming(Place, Request)
        case attaching(session: Int, Request)
        /// The peer is still describing itself.
        case attached(Place)
        case joining(Place, Request)
        case published(Publication)
        case waiting(until: Instant, claiming: Place?)
        /// The session is being destroyed, with its handle. Unlike a `leave`, viewers learn of that.
        case leaving(Request)
        case ended
    }

    /// The longest time for the server's answer.
    static let patience = Duration.seconds(10)
    /// The server ends a session without requests for 60 s.
    static let keepAliveInterval = Duration.seconds(25)
    static let farewellTime = Duration.seconds(2)
    /// The longest time for a renewal of secrets that were accepted before.
    static let renewalTime = Duration.seconds(60)

    let server: String
    let room: String
    var secrets: JanusSecrets
    let codecs: [VideoCodec]
    var state = State.idle
    /// Of the present peer, the last one.
    var offer: String?
    /// Whether the server may have this side's former addresses.
    var isMigrating = false
    var requests = 0
    var backoff = Backoff(.milliseconds(500)...(.seconds(8)), growingBy: 25)
    /// Whether this side was ever in the room.
    var wasPublished = false
    /// When secrets were first refused that were accepted before.
    var refusedSince: Instant?
    /// Whether the room is given as text: its name, or its number on a server that has names.
    var roomIsText: Bool { hasChangedType || Int(room) == nil }
    /// Whether the server has answered that its rooms have names.
    var hasChangedType = false
    var outputs: [Output] = []

    /// - Parameter room: its number in decimal digits, or its name.
    package init(server: String, room: String, _ secrets: JanusSecrets, codecs: [VideoCodec]) {
        (self.server, self.room, self.secrets, self.codecs) = (server, room, secrets, codecs)
    }

    package var nextDeadline: Instant? {
        switch state {
        case .creating(let request), .claiming(_, let request), .attaching(_, let request), .joining(_, let request),
            .leaving(let request):
            request.until
        case .published(let publication): publication.deadline
        case .waiting(let until, _): until
        case .idle, .opening, .attached, .ended: nil
        }
    }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - The WebSocket

    package mutating func start() { open(claiming: nil) }

    package mutating func renew(_ secrets: JanusSecrets) { self.secrets = secrets }

    package mutating func opened(now: Instant) {
        guard case .opening(let place) = state else { return }
        guard let place else { return create(now) }
        state = .claiming(place, ask(.claim, session: place.session, now))
    }

    /// The WebSocket is closed, or does not open.
    ///
    /// - Parameters:
    ///   - why: a sentence.
    ///   - kind: the end of a call that has not begun; `failed` if later attempts would fail in the same way.
    package mutating func lost(_ why: String, _ kind: CallEnd.Kind = .unavailable, now: Instant) {
        // The server was there before: another network may answer in its place.
        let isFinal = kind == .failed && !wasPublished
        // Only a server that is there refuses secrets.
        if case .opening = state { refusedSince = nil }
        switch state {
        case .idle, .waiting, .ended: break
        case .leaving: finish(nil, now)
        case .published(let publication):
            if publication.restart != nil { outputs.append(.abandonProposal) }
            wait(why, claiming: publication.place, now)
        // The picture may still go on.
        case .claiming(let place, _) where !isFinal, .opening(let place?) where !isFinal:
            wait(why, claiming: place, now)
        case .opening, .creating, .claiming, .attaching, .attached, .joining:
            if !wasPublished { return finish(CallEnd(kind, why), now) }
            retry(why, now)
        }
    }

    package mutating func tick(now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        switch state {
        case .waiting(_, let place): open(claiming: place)
        case .leaving: finish(nil, now)
        case .published(let publication): tick(publication, now)
        default: lost("\(server) does not answer as Janus does: check the address", now: now)
        }
    }

    package mutating func received(_ text: some Collection<UInt8>, now: Instant) {
        guard let message = JanusMessage(text) else { return }
        switch state {
        case .creating(let request) where message.transaction == request.transaction: created(message, now)
        case .claiming(let place, let request) where message.transaction == request.transaction:
            claimed(place, message, now)
        case .attaching(let session, let request) where message.transaction == request.transaction:
            attached(session, message, now)
        case .joining(let place, let request):
            if message.transaction == request.transaction, joined(place, message, now) { return }
            happened(message, at: place, now)
        case .published(let publication): received(message, publication, now)
        case .attached(let place): happened(message, at: place, now)
        case .leaving(let request) where message.transaction == request.transaction: finish(nil, now)
        default: break
        }
    }

    // MARK: - The peer

    /// The peer has made its offer.
    package mutating func described(_ sdp: String, now: Instant) {
        offer = sdp
        if case .attached(let place) = state { join(place, now) }
    }

    /// There are keys, so media arrive.
    package mutating func connected() { backoff.succeed() }

    /// The peer has ended, or there will be none.
    ///
    /// - Parameter why: as in "is out of reach".
    package mutating func peerEnded(_ why: String, isFinal: Bool, now: Instant) {
        switch state {
        case .idle, .leaving, .ended, .waiting(_, nil): break
        // There is nothing to claim now.
        case .waiting(let until, .some): state = .waiting(until: until, claiming: nil)
        case .opening(.some): state = .opening(claiming: nil)
        case .opening, .creating, .claiming, .attaching, .attached, .joining, .published:
            if isFinal { finish(CallEnd(.failed, "\(server) \(why)"), now) } else { retry("\(server) \(why)", now) }
        }
    }

    /// `ended` follows when the server knows, if it has to.
    package mutating func leave(now: Instant) {
        switch state {
        case .leaving, .ended: break
        case .idle, .opening, .creating, .waiting: finish(nil, now)
        case .claiming, .attaching, .attached, .joining, .published:
            guard let request = destroy(now) else { return }
            state = .leaving(request)
        }
    }

    // MARK: - Between the steps

    mutating func ask(
        _ request: JanusRequest,
        session: Int? = nil,
        handle: Int? = nil,
        for time: Duration = Self.patience,
        _ now: Instant
    ) -> Request {
        requests += 1
        let transaction = "oriel\(requests)"
        outputs.append(.send(request.text(transaction: transaction, session: session, handle: handle, secrets)))
        return Request(transaction: transaction, until: now + time)
    }

    /// Ends the session on the server, if there is one, and with it everything else.
    mutating func destroy(_ now: Instant) -> Request? {
        switch state {
        case .attaching(let session, _): ask(.destroy, session: session, for: Self.farewellTime, now)
        case .attached(let place), .joining(let place, _), .claiming(let place, _):
            ask(.destroy, session: place.session, for: Self.farewellTime, now)
        case .published(let publication):
            ask(.destroy, session: publication.place.session, for: Self.farewellTime, now)
        case .idle, .opening, .creating, .waiting, .leaving, .ended: nil
        }
    }

    /// Begins anew after a while.
    mutating func retry(_ why: String, _ now: Instant) {
        _ = destroy(now)
        outputs.append(.closePeer)
        wait(why, claiming: nil, now)
    }

    /// Connects again after a while, with the same peer. The intervals grow with each failure.
    mutating func wait(_ why: String, claiming place: Place?, _ now: Instant) {
        state = .waiting(until: now + backoff.fail(), claiming: place)
        outputs += [.closeSocket, .retrying(why: why)]
    }

    mutating func end(_ kind: CallEnd.Kind, _ why: String, _ now: Instant) {
        finish(CallEnd(kind, "\(server) \(why)"), now)
    }

    mutating func finish(_ end: CallEnd?, _ now: Instant) {
        _ = destroy(now)
        state = .ended
        outputs += [.closePeer, .closeSocket, .ended(end)]
    }
}
