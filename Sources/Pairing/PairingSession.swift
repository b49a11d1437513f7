import Sodium
package import Time

/// One run of the pairing on a link, after both HELLOs: from the code to a pair that both have stored. Sans-IO.
///
/// Invariant: only devices that know the code store a pair. A side that has stored it, and does not hear whether the other one has, keeps it
/// as pending (`.unconfirmed`): the next link settles that (`LinkProof`).
package struct PairingSession {
    /// The other device, as this one keeps it.
    package struct NewPair: Equatable, Sendable {
        package var id: PairID { PairID(secret: secret) }
        /// The secret of both, 32 bytes.
        package let secret: [UInt8]
        /// For the announcements of the other device (`ResolvableID`).
        package let resolvingKey: [UInt8]
        /// As the other device calls itself; anything may be in it.
        package let name: String
        /// Whether this device took the code, rather than showed it.
        package let hasBegun: Bool

        package init(secret: [UInt8], resolvingKey: [UInt8], name: String, hasBegun: Bool) {
            (self.secret, self.resolvingKey, self.name, self.hasBegun) = (secret, resolvingKey, name, hasBegun)
        }
    }

    package enum Role: Equatable, Sendable {
        /// The server of the link.
        case showsCode
        /// The client.
        case takesCode
    }

    package enum Output: Equatable, Sendable {
        case send([UInt8])
        /// The other side shows by which code it believes in. Call `confirm`, if this is the first try of the code, or `fail`.
        case tries
        /// This device has shown by which code it believes in: the code is of no use for another run.
        case usesCode
        /// The code was tried in vain.
        case wrongCode
        /// Store the pair as one that the other side may not have yet; then call `noteStored`.
        case store(NewPair)
        /// Both sides have it.
        case paired
        /// This side has it, and the other one perhaps.
        case unconfirmed
        /// There is no pair; one that was stored is of no use.
        case failed(PairingFailure)
    }

    /// Once the code is there, no person is waited for.
    package static let patience = Duration.seconds(20)

    private struct Keys {
        let secret: [UInt8]
        let ownTag: [UInt8]
        let otherTag: [UInt8]
    }

    private enum State {
        case sharing(CPace)
        case confirming(Keys)
        /// The other side's tag is here.
        case trying(Keys, tag: [UInt8])
        case identifying(secret: [UInt8])
        case storing(isOtherDone: Bool)
        case awaitingOther
        case ended
    }

    private let role: Role
    private let resolvingKey: [UInt8]
    private let ownHello: [UInt8]
    private let otherHello: [UInt8]
    private let otherName: String
    private let setting: CPace.Setting
    private var state: State
    /// When `expire` is due; nil after the end.
    package private(set) var deadline: Instant?
    private var outputs: [Output] = []

    /// - Parameters:
    ///   - resolvingKey: of this device.
    ///   - hellos: of both sides.
    ///   - certificate: the SHA-256 of the server's certificate (DER).
    package init(
        _ role: Role,
        code: PairingCode,
        resolvingKey: [UInt8],
        hellos: (client: PairingFrame.Hello, server: PairingFrame.Hello),
        certificate: [UInt8],
        at now: Instant
    ) {
        (self.role, self.resolvingKey, deadline) = (role, resolvingKey, now + Self.patience)
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
        // The tags of two equal sides would be equal, too, and could be sent back.
        if hellos.client.nonce == hellos.server.nonce {
            fail(.refused)
        } else if role == .takesCode {
            send(.share(run.share))
        }
    }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// - Parameter frame: nil for bytes that are none.
    package mutating func receive(_ frame: PairingFrame?) {
        switch (state, frame) {
        case (.ended, _): return
        case (_, .abort(let failure)): stop(failure, isTold: true)
        case (.sharing(let run), .share(let share)): derive(run, share)
        case (.confirming(let keys), .confirm(let tag)):
            state = .trying(keys, tag: tag)
            if role == .showsCode { outputs.append(.tries) } else { confirm() }
        case (.identifying(let secret), .ident(let key)):
            // The device itself.
            if key == resolvingKey { return fail(.refused) }
            state = .storing(isOtherDone: false)
            let hasBegun = role == .takesCode
            outputs.append(.store(NewPair(secret: secret, resolvingKey: key, name: otherName, hasBegun: hasBegun)))
        case (.storing, .stored(true)): state = .storing(isOtherDone: true)
        case (.awaitingOther, .stored(true)): end(.paired)
        case (.storing, .stored(false)), (.awaitingOther, .stored(false)): end(.failed(.refused))
        default: stop(.refused)
        }
    }

    /// Compares the other side's tag: the one try of the code.
    package mutating func confirm() {
        guard case .trying(let keys, let tag) = state else { return }
        guard Hash.areEqual(tag, keys.otherTag) else {
            outputs.append(.wrongCode)
            return fail(.wrongCode)
        }
        if role == .showsCode { send(.confirm(keys.ownTag)) }
        send(.ident(resolvingKey: resolvingKey))
        state = .identifying(secret: keys.secret)
    }

    /// The pair was stored, or could not be.
    package mutating func noteStored(_ isDone: Bool) {
        guard case .storing(let isOtherDone) = state else { return }
        send(.stored(isDone: isDone))
        if !isDone {
            end(.failed(.refused))
        } else if isOtherDone {
            end(.paired)
        } else {
            state = .awaitingOther
        }
    }

    package mutating func expire(at now: Instant) {
        if let deadline, now >= deadline { stop(.late) }
    }

    /// The link is gone.
    package mutating func linkLost() { stop(.late, isTold: true) }

    /// Ends a run that has stored nothing.
    package mutating func fail(_ failure: PairingFailure) { stop(failure) }

    // MARK: - Steps

    private mutating func derive(_ run: CPace, _ share: [UInt8]) {
        let begins = role == .takesCode
        guard let key = run.key(with: share, ownData: ownHello, otherData: otherHello, begins: begins) else {
            return fail(.refused)
        }
        let tagKey = Hash.sha512(Array("CPaceMac".utf8) + setting.session + key)
        func tag(_ share: [UInt8], _ hello: [UInt8]) -> [UInt8] {
            Hash.hmacSHA512(key: tagKey, [share, hello].concatenated)
        }
        let secret = Array(Hash.hmacSHA512(key: key, Array("oriel pair 1".utf8)).prefix(PairingFrame.keyLength))
        let keys = Keys(secret: secret, ownTag: tag(run.share, ownHello), otherTag: tag(share, otherHello))
        state = .confirming(keys)
        if begins { outputs.append(.usesCode) }
        send(begins ? .confirm(keys.ownTag) : .share(run.share))
    }

    private mutating func send(_ frame: PairingFrame) { outputs.append(.send(frame.bytes)) }

    /// - Parameter isTold: whether the other side knows, or cannot be told.
    private mutating func stop(_ failure: PairingFailure, isTold: Bool = false) {
        if case .ended = state { return }
        if !isTold { send(.abort(failure)) }
        // The other side may have stored it already, and be sure of this one.
        if case .awaitingOther = state { end(.unconfirmed) } else { end(.failed(failure)) }
    }

    private mutating func end(_ output: Output) {
        (state, deadline) = (.ended, nil)
        outputs.append(output)
    }
}
