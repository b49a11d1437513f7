package import Media
import SocketIO
package import Time
import WebRTC

/// Publishes into a VideoRoom of Janus by its API over a WebSocket: makes a session and a handle in it, joins the room with this
/// side's offer, keeps the session alive, and leaves. What is lost is published again; a WebSocket alone that is lost, claimed back.
/// Sans-IO: after each call, do what `takeOutputs` says, and call `tick` when `nextDeadline` comes.
package struct JanusSession: Sendable {
    package enum Output: Sendable, Equatable {
        /// Open a WebSocket with the subprotocol `janus-protocol`. What becomes of it is passed on with `opened`, `received` and
        /// `lost`.
        case openSocket
        /// Close it when what was sent has left. Nothing that is heard of it counts any more.
        case closeSocket
        case send(String)
        /// Have a peer offer, and pass that on with `described`.
        case offer
        case closePeer
        case accept(sdp: String)
        /// A line `candidate:…`.
        case addCandidate(line: String)
        /// What went wrong for now.
        case retrying(why: String)
        /// The server is there again, and the picture went on.
        case resumed
        /// The last output; nil if it was left.
        case ended(CallEnd?)
    }

    /// A handle of the VideoRoom in a session.
    private struct Place {
        let session: Int
        let handle: Int
    }

    private struct Request {
        let transaction: String
        let until: Instant
    }

    private enum State {
        case idle
        /// The WebSocket is on its way; the place that is to be claimed by it, if there is one.
        case opening(claiming: Place?)
        case creating(Request)
        case claiming(Place, Request)
        case attaching(session: Int, Request)
        /// The peer is still describing itself.
        case attached(Place)
        case joining(Place, Request)
        /// `keepAlive` is one that is not answered yet.
        case published(Place, keepAliveAt: Instant, keepAlive: Request?)
        case waiting(until: Instant, claiming: Place?)
        /// The session is being destroyed, and with it the handle. Viewers learn of that, which they do not of a `leave`.
        case leaving(Request)
        case ended
    }

    /// How long the server may take for an answer.
    private static let patience = Duration.seconds(10)
    /// The server lets a session lapse that asks for nothing for 60 s.
    private static let keepAliveInterval = Duration.seconds(25)
    private static let farewellTime = Duration.seconds(2)
    private static let (shortestPause, longestPause) = (Duration.milliseconds(500), Duration.seconds(8))

    private let server: String
    private let room: String
    private let secrets: JanusSecrets
    private let codecs: [VideoCodec]
    private var state = State.idle
    private var offer: String?
    private var requests = 0
    private var pause = Self.shortestPause
    /// Whether the room has ever taken this side in.
    private var wasPublished = false
    /// Whether the room is given as text: its name, or its number where the server has names. It says so where it differs.
    private var roomIsText: Bool
    private var hasChangedType = false
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - server: for people.
    ///   - room: its number in decimal digits, or its name.
    ///   - codecs: that are offered, for people.
    package init(server: String, room: String, _ secrets: JanusSecrets, codecs: [VideoCodec]) {
        (self.server, self.room, self.secrets, self.codecs) = (server, room, secrets, codecs)
        roomIsText = Int(room) == nil
    }

    package var nextDeadline: Instant? {
        switch state {
        case .creating(let request), .claiming(_, let request), .attaching(_, let request), .joining(_, let request),
            .leaving(let request):
            request.until
        case .published(_, let keepAliveAt, let keepAlive): keepAlive?.until ?? keepAliveAt
        case .waiting(let until, _): until
        case .idle, .opening, .attached, .ended: nil
        }
    }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - The WebSocket

    package mutating func start() { open(claiming: nil) }

    package mutating func opened(now: Instant) {
        guard case .opening(let place) = state else { return }
        guard let place else { return create(now) }
        state = .claiming(place, ask(.claim, session: place.session, now))
    }

    /// The WebSocket is closed, or does not open.
    ///
    /// - Parameters:
    ///   - why: a sentence.
    ///   - kind: how that ends the call if it has not begun; `failed` if another attempt would fail like this one, later too.
    package mutating func lost(_ why: String, _ kind: CallEnd.Kind = .unavailable, now: Instant) {
        switch state {
        case .idle, .waiting, .ended: break
        case .leaving: finish(nil, now)
        case .published(let place, _, _): wait(why, claiming: place, now)
        // The picture may still go on.
        case .claiming(let place, _) where kind != .failed, .opening(let place?) where kind != .failed:
            wait(why, claiming: place, now)
        case .opening, .creating, .claiming, .attaching, .attached, .joining:
            if !wasPublished || kind == .failed { return finish(CallEnd(kind, why), now) }
            retry(why, now)
        }
    }

    package mutating func tick(now: Instant) {
        guard let nextDeadline, nextDeadline <= now else { return }
        switch state {
        case .waiting(_, let place): open(claiming: place)
        case .leaving: finish(nil, now)
        case .published(let place, let keepAliveAt, nil):
            let request = ask(.keepAlive, session: place.session, now)
            state = .published(place, keepAliveAt: keepAliveAt, keepAlive: request)
        case .published: lost("\(server) does not answer", now: now)
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
        case .published(let place, _, let keepAlive?) where message.transaction == keepAlive.transaction:
            if case .fault(let fault) = message.content { return failed(fault, now) }
            // It has been well for a while.
            pause = Self.shortestPause
            state = .published(place, keepAliveAt: now + Self.keepAliveInterval, keepAlive: nil)
        case .attached(let place), .published(let place, _, _): happened(message, at: place, now)
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

    /// There are keys: what is sent arrives.
    package mutating func connected() { pause = Self.shortestPause }

    /// The peer has ended, or there will be none.
    ///
    /// - Parameters:
    ///   - why: as in "is out of reach".
    ///   - isFinal: whether another attempt would end like this one.
    package mutating func peerEnded(_ why: String, isFinal: Bool, now: Instant) {
        switch state {
        case .idle, .leaving, .ended, .waiting(_, nil): break
        // It is lost, too: there is nothing to claim.
        case .waiting(let until, .some): state = .waiting(until: until, claiming: nil)
        case .opening(.some): state = .opening(claiming: nil)
        case .opening, .creating, .claiming, .attaching, .attached, .joining, .published:
            if isFinal { finish(CallEnd(.failed, "\(server) \(why)"), now) } else { retry("\(server) \(why)", now) }
        }
    }

    /// `ended` follows when the server knows, as far as it must.
    package mutating func leave(now: Instant) {
        switch state {
        case .leaving, .ended: break
        case .idle, .opening, .creating, .waiting: finish(nil, now)
        case .claiming, .attaching, .attached, .joining, .published:
            guard let request = destroy(now) else { return }
            state = .leaving(request)
        }
    }

    // MARK: - Steps

    private mutating func open(claiming place: Place?) {
        state = .opening(claiming: place)
        outputs.append(.openSocket)
    }

    private mutating func create(_ now: Instant) {
        offer = nil
        outputs.append(.offer)
        state = .creating(ask(.create, now))
    }

    private mutating func created(_ message: JanusMessage, _ now: Instant) {
        switch message.content {
        case .success(let session?): state = .attaching(session: session, ask(.attach, session: session, now))
        case .fault(let fault): failed(fault, now)
        default: break
        }
    }

    private mutating func claimed(_ place: Place, _ message: JanusMessage, _ now: Instant) {
        switch message.content {
        case .success:
            state = .published(place, keepAliveAt: now + Self.keepAliveInterval, keepAlive: nil)
            outputs.append(.resumed)
        case .fault:
            outputs.append(.closePeer)
            create(now)
        default: break
        }
    }

    private mutating func attached(_ session: Int, _ message: JanusMessage, _ now: Instant) {
        switch message.content {
        case .success(let handle?):
            let place = Place(session: session, handle: handle)
            state = .attached(place)
            if offer != nil { join(place, now) }
        case .fault(let fault): failed(fault, now)
        default: break
        }
    }

    private mutating func join(_ place: Place, _ now: Instant) {
        guard let offer else { return }
        let name = roomIsText ? JSONText(string: room) : JSONText(Int(room) ?? 0)
        let request = JanusRequest.join(name, pin: secrets.pin, token: secrets.token, offer: offer)
        state = .joining(place, ask(request, session: place.session, handle: place.handle, now))
    }

    /// Whether the message says what has become of joining.
    private mutating func joined(_ place: Place, _ message: JanusMessage, _ now: Instant) -> Bool {
        switch message.content {
        case .joined(let answer?):
            guard answer.type == "answer" else {
                end(
                    .failed,
                    "has sent an \(answer.type == "offer" ? "offer" : "unknown description") where an answer belongs",
                    now
                )
                return true
            }
            guard !Self.takesNothing(answer.sdp) else {
                let names = codecs.map(\.rawValue)
                let list = names.joined(separator: ",").lowercased()
                end(
                    .failed,
                    "takes no \(names.joined(separator: ", no ")) in room \(room): set videocodec = \"\(list)\" in the room, or choose another --codec",
                    now
                )
                return true
            }
            wasPublished = true
            state = .published(place, keepAliveAt: now + Self.keepAliveInterval, keepAlive: nil)
            outputs.append(.accept(sdp: answer.sdp))
            return true
        case .fault(let fault):
            if fault.meaning == .otherRoomType, !hasChangedType, Int(room) != nil {
                hasChangedType = true
                roomIsText.toggle()
                // This handle has taken the offer already.
                _ = ask(.detach, session: place.session, handle: place.handle, now)
                state = .attaching(session: place.session, ask(.attach, session: place.session, now))
            } else {
                failed(fault, now)
            }
            return true
        default: return false
        }
    }

    /// What comes unasked.
    private mutating func happened(_ message: JanusMessage, at place: Place, _ now: Instant) {
        guard message.session ?? place.session == place.session else { return }
        if case .timeout = message.content { return retry("\(server) has let the session lapse", now) }
        guard message.handle == place.handle else { return }
        switch message.content {
        case .candidate(let line): outputs.append(.addCandidate(line: line))
        case .hangUp(let reason): retry("\(server) has hung up (\(String(quoting: reason)))", now)
        case .detached: retry("\(server) has taken the VideoRoom away", now)
        case .left: end(.tryAgain, "has sent this side away from room \(room)", now)
        case .roomDestroyed: end(.tryAgain, "has closed room \(room)", now)
        case .ack, .success, .fault, .joined, .timeout, .other: break
        }
    }

    private mutating func failed(_ fault: JanusFault, _ now: Instant) {
        let said = "(\(fault.code): \(fault.reason))"
        switch fault.meaning {
        case .stale: retry("\(server) has lost the session \(said)", now)
        case .noRoom:
            // A room that was made by hand is made again after a server's end.
            if wasPublished { return retry("\(server) has no room \(room) now", now) }
            end(.unavailable, "has no room \(room): check its number, or create it", now)
        case .full:
            let why = fault.code == 432 ? "room \(room) is full" : "it takes nobody in now"
            // It may be this side's own place that is still held.
            if wasPublished { return retry("\(server): \(why)", now) }
            end(.tryAgain, "has no place for another publisher: \(why)", now)
        case .unauthorized where secrets.apiSecret == nil && secrets.token == nil:
            end(
                .failed,
                "wants a secret or a token: give it with --janus-secret-file or --janus-token-file \(said)",
                now
            )
        case .unauthorized: end(.failed, "refuses the secret or the token \(said)", now)
        case .pinMissing: end(.failed, "wants a PIN for room \(room): give it with --janus-pin-file", now)
        case .notAdmitted: end(.failed, "refuses the PIN or the token for room \(room) \(said)", now)
        case .otherRoomType: end(.failed, "has numbers for rooms: write one in place of \(room)", now)
        case .noVideoRoom: end(.unavailable, "has no VideoRoom: load that plugin, or check the address \(said)", now)
        case .other: end(.failed, "does not take the request \(said)", now)
        }
    }

    // MARK: - Between them

    private mutating func ask(
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

    /// Ends what the server has of this side, if it has anything: with the session goes all of it.
    private mutating func destroy(_ now: Instant) -> Request? {
        switch state {
        case .attaching(let session, _): ask(.destroy, session: session, for: Self.farewellTime, now)
        case .attached(let place), .joining(let place, _), .published(let place, _, _), .claiming(let place, _):
            ask(.destroy, session: place.session, for: Self.farewellTime, now)
        case .idle, .opening, .creating, .waiting, .leaving, .ended: nil
        }
    }

    /// Begins anew after a while.
    private mutating func retry(_ why: String, _ now: Instant) {
        _ = destroy(now)
        outputs.append(.closePeer)
        wait(why, claiming: nil, now)
    }

    /// Connects again after a while, with the peer as it is: whoever was away for long is asked at longer intervals.
    private mutating func wait(_ why: String, claiming place: Place?, _ now: Instant) {
        state = .waiting(until: now + pause, claiming: place)
        pause = min(pause * 5 / 4, Self.longestPause)
        outputs += [.closeSocket, .retrying(why: why)]
    }

    private mutating func end(_ kind: CallEnd.Kind, _ why: String, _ now: Instant) {
        finish(CallEnd(kind, "\(server) \(why)"), now)
    }

    private mutating func finish(_ end: CallEnd?, _ now: Instant) {
        _ = destroy(now)
        state = .ended
        outputs += [.closePeer, .closeSocket, .ended(end)]
    }

    /// An answer without a codec in common has all that was offered inactive, and is no error to Janus.
    private static func takesNothing(_ sdp: String) -> Bool {
        guard let answer = try? SessionDescription(parsing: sdp), !answer.media.isEmpty else { return false }
        return answer.media.allSatisfy { $0.port == 0 || !$0.receives(in: answer) }
    }
}
