package import Pairing
import Sodium
package import Time

/// One side of a link, over TLS: two devices pair, or prove that they are paired, and then exchange frames. Sans-IO; what it sends are
/// messages of a `LinkWire`.
///
/// The server greets first, so that each proof is of this link alone. A device that is no pair learns the server's name at the most, and
/// nothing where the server announces itself to its pairs alone. `LinkClosing.unpaired` from a server that has proved nothing proves nothing.
package struct LinkSession {
    package enum Output: Equatable, Sendable {
        case send([UInt8])
        /// The other side wants to pair: call `pair` or `refuse`.
        case wantsToPair(PairingFrame.Hello)
        /// Of the pairing; its `send` is never among these. After `tries`, call `confirm` or `failPairing`.
        case pairing(PairingSession.Output)
        /// Both are paired, and have proved it.
        ///
        /// - isAnew: whether the client gives up another link of theirs.
        case linked(PairID, isAnew: Bool)
        case frame(LinkFrame)
        /// Whether nothing was heard for a while.
        case away(Bool)
        /// Close the connection once all is sent.
        case close(LinkClosing)
    }

    /// What the client wants.
    package enum Wish: Sendable {
        /// - secret: of the pair.
        /// - isAnew: whether another link of the pair leads nowhere.
        case link(secret: [UInt8], isAnew: Bool = false)
        /// - token: of the announcement.
        case pair(PairingCode, token: [UInt8])
    }

    package enum Role: Sendable {
        case client(Wish)
        /// - secrets: of all pairs.
        case server(secrets: [[UInt8]])
    }

    /// Until the proof, or the wish to pair, is there.
    package static let greetingTime = Duration.seconds(10)
    package static let pingInterval = Duration.seconds(30)
    package static let awayTime = Duration.seconds(60)
    /// While a person looks.
    package static let watchedPingInterval = Duration.seconds(3)
    package static let watchedAwayTime = Duration.seconds(8)
    /// A link that is silent for so long is closed, and made anew.
    package static let lapseTime = Duration.seconds(7200)

    private enum State {
        case greeting(until: Instant)
        /// The client has sent its proof.
        case proving(PairID, LinkProof, isAnew: Bool, until: Instant)
        /// The server asks whether to pair. The client's first frame may be there already.
        case asking(PairingFrame.Hello, first: [UInt8]?, until: Instant)
        /// - pair: once it is stored.
        case pairing(PairingSession, pair: PairID?)
        case linked
        case closed
    }

    private let role: Role
    private let resolvingKey: [UInt8]
    private let hello: PairingFrame.Hello
    /// The SHA-256 of the server's certificate (DER).
    private let certificate: [UInt8]
    private var state: State
    private var heardAt: Instant
    /// Whoever asks is answered: the client, and a side where a person looks.
    private var pingAt: Instant?
    private var isWatched = false
    private var isAway = false
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - resolvingKey: of this device.
    ///   - name: of this device; empty if only pairs may know it.
    ///   - certificate: the SHA-256 of the server's certificate (DER), as this side sees it.
    package init(
        _ role: Role,
        resolvingKey: [UInt8],
        name: String,
        certificate: [UInt8],
        at now: Instant,
        nonce: [UInt8] = Randomness.bytes(PairingFrame.Hello.nonceLength)
    ) {
        (self.role, self.resolvingKey, self.certificate) = (role, resolvingKey, certificate)
        heardAt = now
        state = .greeting(until: now + Self.greetingTime)
        switch role {
        case .server:
            hello = PairingFrame.Hello(nonce: nonce, name: name)
            outputs.append(.send(PairingFrame.hello(hello).bytes))
        case .client(.link): hello = PairingFrame.Hello(nonce: nonce, name: "")
        case .client(.pair(_, let token)): hello = PairingFrame.Hello(nonce: nonce, token: token, name: name)
        }
    }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// Of the next message, in bytes.
    package var longestMessage: Int {
        if case .linked = state { LinkFrame.longest } else { PairingFrame.longest }
    }

    /// When to call `poll`; nil after the end.
    package var deadline: Instant? {
        switch state {
        case .greeting(let until), .proving(_, _, _, let until), .asking(_, _, let until): until
        case .pairing(let session, _): session.deadline
        case .linked: earliest(pingAt, heardAt + (isAway ? Self.lapseTime : awayTime))
        case .closed: nil
        }
    }

    package mutating func poll(at now: Instant) {
        switch state {
        case .greeting(let until), .proving(_, _, _, let until), .asking(_, _, let until):
            if now >= until { close(.late) }
        case .pairing(var session, let pair):
            session.expire(at: now)
            pass(&session, pair)
        case .linked:
            if now - heardAt >= Self.lapseTime { return close(.goingAway) }
            if !isAway, now - heardAt >= awayTime {
                isAway = true
                outputs.append(.away(true))
            }
            if let ping = pingAt, now >= ping {
                pingAt = now + pingInterval
                outputs.append(.send(LinkSignal.ping.bytes))
            }
        case .closed: break
        }
    }

    /// Asks more often whether the other side is there, while a person looks.
    package mutating func watch(_ isWatched: Bool, at now: Instant) {
        guard isWatched != self.isWatched else { return }
        self.isWatched = isWatched
        guard case .linked = state else { return }
        pingAt = isWatched ? now : asks ? now + pingInterval : nil
        // The silence before that was in order.
        if isWatched, !isAway { heardAt = now }
    }

    private var asks: Bool { if case .client = role { true } else { isWatched } }
    private var pingInterval: Duration { isWatched ? Self.watchedPingInterval : Self.pingInterval }
    private var awayTime: Duration { isWatched ? Self.watchedAwayTime : Self.awayTime }

    // MARK: - What is heard

    private mutating func noteHeard(at now: Instant) {
        heardAt = now
        if isAway {
            isAway = false
            outputs.append(.away(false))
        }
    }

    /// A message.
    package mutating func receive(_ bytes: [UInt8], at now: Instant) {
        noteHeard(at: now)
        if let signal = LinkSignal(bytes) { return receive(signal) }
        switch state {
        case .closed: break
        case .linked: if let frame = LinkFrame(bytes) { outputs.append(.frame(frame)) } else { close(.broken) }
        case .pairing(var session, let pair):
            session.receive(PairingFrame(bytes))
            pass(&session, pair)
        case .greeting:
            switch (role, PairingFrame(bytes)) {
            case (.client(let wish), .hello(let server)?): greet(server, wish, at: now)
            case (.server, .hello(let client)?):
                guard client.version == PairingFrame.Hello.version else { return refuse(.version) }
                state = .asking(client, first: nil, until: now + Self.greetingTime)
                outputs.append(.wantsToPair(client))
            case (.server(let secrets), .auth(let nonce, let isAnew, let mac)?): admit(nonce, isAnew, mac, secrets)
            default: close(.broken)
            }
        case .proving(let pair, let proof, let isAnew, _):
            guard case .authOK(let mac)? = PairingFrame(bytes) else { return close(.broken) }
            if proof.isServer(mac) { link(pair, isAnew: isAnew) } else { close(.unpaired) }
        case .asking(let client, nil, let until): state = .asking(client, first: bytes, until: until)
        case .asking: close(.broken)
        }
    }

    private mutating func receive(_ signal: LinkSignal) {
        switch (state, signal) {
        case (.closed, _), (.linked, .pong): break
        case (.linked, .ping): outputs.append(.send(LinkSignal.pong.bytes))
        case (_, .close(let reason)):
            change { $0.linkLost() }
            end(reason)
        case (_, .ping), (_, .pong): close(.broken)
        }
    }

    private mutating func greet(_ server: PairingFrame.Hello, _ wish: Wish, at now: Instant) {
        guard server.version == PairingFrame.Hello.version else { return refuse(.version) }
        switch wish {
        case .link(let secret, let isAnew):
            let proof = LinkProof(
                secret: secret,
                certificate: certificate,
                serverNonce: server.nonce,
                clientNonce: hello.nonce,
                isAnew: isAnew
            )
            let auth = PairingFrame.auth(nonce: hello.nonce, isAnew: isAnew, mac: proof.ofClient)
            outputs.append(.send(auth.bytes))
            state = .proving(PairID(secret: secret), proof, isAnew: isAnew, until: now + Self.greetingTime)
        case .pair(let code, _):
            outputs.append(.send(PairingFrame.hello(hello).bytes))
            begin(.takesCode, code, (hello, server), at: now)
        }
    }

    private mutating func admit(_ nonce: [UInt8], _ isAnew: Bool, _ mac: [UInt8], _ secrets: [[UInt8]]) {
        for secret in secrets {
            let proof = LinkProof(
                secret: secret,
                certificate: certificate,
                serverNonce: hello.nonce,
                clientNonce: nonce,
                isAnew: isAnew
            )
            guard proof.isClient(mac) else { continue }
            outputs.append(.send(PairingFrame.authOK(mac: proof.ofServer).bytes))
            return link(PairID(secret: secret), isAnew: isAnew)
        }
        close(.unpaired)
    }

    // MARK: - Pairing

    /// Lets the other side try a code.
    package mutating func pair(_ code: PairingCode, at now: Instant) {
        guard case .asking(let client, let first, _) = state else { return }
        begin(.showsCode, code, (client, hello), at: now)
        if let first { receive(first, at: now) }
    }

    package mutating func refuse(_ reason: PairingFailure) {
        outputs.append(.send(PairingFrame.abort(reason).bytes))
        close(.notPaired)
    }

    /// The code may be compared.
    package mutating func confirm() { change { $0.confirm() } }

    /// The code may not be compared.
    package mutating func failPairing(_ reason: PairingFailure) { change { $0.fail(reason) } }

    /// The pair was stored, or could not be.
    package mutating func noteStored(_ isDone: Bool) { change { $0.noteStored(isDone) } }

    /// The connection is gone.
    package mutating func connectionLost() {
        change { $0.linkLost() }
        end(.goingAway)
    }

    private mutating func change(_ body: (inout PairingSession) -> Void) {
        guard case .pairing(var session, let pair) = state else { return }
        body(&session)
        pass(&session, pair)
    }

    private mutating func begin(
        _ role: PairingSession.Role,
        _ code: PairingCode,
        _ hellos: (client: PairingFrame.Hello, server: PairingFrame.Hello),
        at now: Instant
    ) {
        var session = PairingSession(
            role,
            code: code,
            resolvingKey: resolvingKey,
            hellos: hellos,
            certificate: certificate,
            at: now
        )
        pass(&session, nil)
    }

    /// Passes the outputs of the pairing on.
    private mutating func pass(_ session: inout PairingSession, _ pair: PairID?) {
        var pair = pair
        while let output = session.nextOutput() {
            if case .send(let bytes) = output {
                outputs.append(.send(bytes))
                continue
            }
            outputs.append(.pairing(output))
            switch output {
            case .store(let new): pair = new.id
            // A pair is stored before it is one.
            case .paired: return link(pair!, isAnew: false)
            case .failed, .unconfirmed: return finish(.notPaired)
            case .send, .tries, .usesCode, .wrongCode: break
            }
        }
        state = .pairing(session, pair: pair)
    }

    // MARK: - Steps

    private mutating func link(_ pair: PairID, isAnew: Bool) {
        state = .linked
        pingAt = asks ? heardAt + pingInterval : nil
        outputs.append(.linked(pair, isAnew: isAnew))
    }

    /// Ends the link, as the machine goes to sleep.
    package mutating func close(_ reason: LinkClosing = .goingAway) {
        // A pairing hears of it first.
        change { $0.linkLost() }
        finish(reason)
    }

    private mutating func finish(_ reason: LinkClosing) {
        if case .closed = state { return }
        outputs.append(.send(LinkSignal.close(reason).bytes))
        end(reason)
    }

    private mutating func end(_ reason: LinkClosing) {
        if case .closed = state { return }
        state = .closed
        outputs.append(.close(reason))
    }
}
