import Sodium
package import Time

/// One run of the pairing on a link, after both HELLOs: from the code to a pair that both have stored. Sans-IO.
///
/// Invariant: a pair is stored only by those who know the code, and both know then that the other one has stored it, or asks at the next
/// link (`LinkProof`) whether it has.
package struct PairingSession {
    /// What each device tells the other, once both know the code.
    package struct Identity: Equatable, Sendable {
        package let device: DeviceID
        /// For the announcements of the device (`ResolvableID`).
        package let resolvingKey: [UInt8]

        package init(device: DeviceID, resolvingKey: [UInt8]) {
            (self.device, self.resolvingKey) = (device, resolvingKey)
        }
    }

    /// What a device keeps of another one.
    package struct NewPair: Equatable, Sendable {
        package let identity: Identity
        /// The secret of both, 32 bytes.
        package let secret: [UInt8]
        /// As the other device calls itself; anything may be in it.
        package let name: String
        /// Whether this device took the code, rather than showed it.
        package let hasBegun: Bool
    }

    package enum Role: Equatable, Sendable {
        /// The server of the link.
        case showsCode
        /// The client.
        case takesCode
    }

    package enum Output: Equatable, Sendable {
        case send([UInt8])
        /// The code was tried in vain, and is of no use any more.
        case burnCode
        /// Store the pair as one that the other side may not have yet; then call `noteStored`.
        case store(NewPair)
        /// Both sides have it.
        case paired
        /// What was stored is of no use.
        case failed(PairingFailure)
    }

    /// Once the code is there, no person is waited for.
    package static let patience = Duration.seconds(20)

    private enum State {
        case sharing(CPace)
        case confirming(secret: [UInt8], ownTag: [UInt8], otherTag: [UInt8])
        case identifying(secret: [UInt8])
        case storing(isOtherDone: Bool)
        case awaitingOther
        case ended
    }

    private let role: Role
    private let identity: Identity
    private let ownHello: [UInt8]
    private let otherHello: [UInt8]
    private let otherName: String
    private let setting: CPace.Setting
    private var state: State
    /// When `expire` is due; nil after the end.
    package private(set) var deadline: Instant?
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - hellos: of both sides.
    ///   - certificate: the SHA-256 of the server's certificate (DER).
    package init(
        _ role: Role,
        code: PairingCode,
        identity: Identity,
        hellos: (client: PairingFrame.Hello, server: PairingFrame.Hello),
        certificate: [UInt8],
        at now: Instant
    ) {
        (self.role, self.identity, deadline) = (role, identity, now + Self.patience)
        let (client, server) = (PairingFrame.hello(hellos.client).bytes, PairingFrame.hello(hellos.server).bytes)
        (ownHello, otherHello) = role == .takesCode ? (client, server) : (server, client)
        otherName = (role == .takesCode ? hellos.server : hellos.client).name
        setting = CPace.Setting(
            password: Array(code.text.utf8),
            channel: [Array("oriel-pair-1".utf8), certificate].concatenated,
            session: hellos.client.nonce + hellos.server.nonce
        )
        let run = CPace(setting)
        state = .sharing(run)
        if role == .takesCode { send(.share(run.share)) }
    }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// - Parameter frame: nil for bytes that are none.
    package mutating func receive(_ frame: PairingFrame?) {
        switch (state, frame) {
        case (.ended, _): return
        case (_, .abort(let failure)): fail(failure, isTold: true)
        case (.sharing(let run), .share(let share)): confirm(run, share)
        case (.confirming(let secret, let ownTag, let otherTag), .confirm(let tag)):
            guard Hash.areEqual(tag, otherTag) else {
                if role == .showsCode { outputs.append(.burnCode) }
                return fail(.wrongCode)
            }
            if role == .showsCode { send(.confirm(ownTag)) }
            send(.ident(identity.device, resolvingKey: identity.resolvingKey))
            state = .identifying(secret: secret)
        case (.identifying(let secret), .ident(let device, let key)):
            if device == identity.device { return fail(.refused) }
            let other = Identity(device: device, resolvingKey: key)
            let pair = NewPair(identity: other, secret: secret, name: otherName, hasBegun: role == .takesCode)
            state = .storing(isOtherDone: false)
            outputs.append(.store(pair))
        case (.storing, .stored(let isDone)):
            if isDone { state = .storing(isOtherDone: true) } else { fail(.refused, isTold: true) }
        case (.awaitingOther, .stored(let isDone)): if isDone { succeed() } else { fail(.refused, isTold: true) }
        default: fail(.refused)
        }
    }

    /// The pair was stored, or could not be.
    package mutating func noteStored(_ isDone: Bool) {
        guard case .storing(let isOtherDone) = state else { return }
        send(.stored(isDone: isDone))
        if !isDone {
            fail(.refused, isTold: true)
        } else if isOtherDone {
            succeed()
        } else {
            state = .awaitingOther
        }
    }

    package mutating func expire(at now: Instant) {
        if let deadline, now >= deadline { fail(.late) }
    }

    // MARK: - Steps

    private mutating func confirm(_ run: CPace, _ share: [UInt8]) {
        let begins = role == .takesCode
        guard let key = run.key(with: share, ownData: ownHello, otherData: otherHello, begins: begins) else {
            return fail(.refused)
        }
        let tagKey = Hash.sha512(Array("CPaceMac".utf8) + setting.session + key)
        func tag(_ share: [UInt8], _ hello: [UInt8]) -> [UInt8] {
            Hash.hmacSHA512(key: tagKey, [share, hello].concatenated)
        }
        let (ownTag, otherTag) = (tag(run.share, ownHello), tag(share, otherHello))
        let secret = Array(Hash.hmacSHA512(key: key, Array("oriel pair 1".utf8)).prefix(PairingFrame.keyLength))
        state = .confirming(secret: secret, ownTag: ownTag, otherTag: otherTag)
        send(begins ? .confirm(ownTag) : .share(run.share))
    }

    private mutating func send(_ frame: PairingFrame) { outputs.append(.send(frame.bytes)) }

    private mutating func succeed() {
        (state, deadline) = (.ended, nil)
        outputs.append(.paired)
    }

    /// - Parameter isTold: whether the other side knows.
    private mutating func fail(_ failure: PairingFailure, isTold: Bool = false) {
        if !isTold { send(.abort(failure)) }
        (state, deadline) = (.ended, nil)
        outputs.append(.failed(failure))
    }
}
