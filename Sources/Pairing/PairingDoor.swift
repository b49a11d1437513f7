import Sodium
package import Time

/// When others may begin to pair with this device: while it shows a code, one after the other, with one try for each code. Sans-IO.
///
/// Five wrong codes close it for a quarter of an hour. So somebody who guesses is right in one of 200,000 quarters.
package struct PairingDoor {
    /// How long a code is shown.
    package static let time = Duration.seconds(120)
    package static let mostFailures = 5
    package static let rest = Duration.seconds(900)

    private enum State: Equatable {
        case closed
        case open(PairingCode, token: [UInt8], until: Instant)
        /// Somebody tries the code.
        case tried(PairingCode, token: [UInt8], until: Instant)
    }

    private var state = State.closed
    private var failures = 0
    private var restsUntil: Instant?

    package init() {}

    /// Shows a code.
    ///
    /// - Returns: the code; nil while the door rests after wrong codes.
    package mutating func open(at now: Instant, _ code: PairingCode = .typed()) -> PairingCode? {
        if let end = restsUntil {
            if now < end { return nil }
            (restsUntil, failures) = (nil, 0)
        }
        let token = Randomness.bytes(PairingFrame.Hello.tokenLength)
        state = .open(code, token: token, until: now + Self.time)
        return code
    }

    package mutating func close() { state = .closed }

    /// Needed to begin; announced while a code is shown.
    package var token: [UInt8]? {
        switch state {
        case .closed: nil
        case .open(_, let token, _), .tried(_, let token, _): token
        }
    }

    /// When the code expires; nil without one.
    package var deadline: Instant? {
        switch state {
        case .closed: nil
        case .open(_, _, let until), .tried(_, _, let until): until
        }
    }

    /// Somebody wants to pair.
    ///
    /// - Parameter token: of its HELLO.
    /// - Returns: the code that it must know. Then call `noteWrong` or `noteEnd`.
    package mutating func admit(_ token: [UInt8], at now: Instant) throws(PairingFailure) -> PairingCode {
        switch state {
        case .closed: throw .refused
        case .open(let code, let own, let until):
            guard Hash.areEqual(token, own) else { throw .refused }
            guard now < until else {
                state = .closed
                throw .late
            }
            state = .tried(code, token: own, until: until)
            return code
        case .tried(_, let own, _): throw Hash.areEqual(token, own) ? .busy : .refused
        }
    }

    /// The code was tried in vain.
    ///
    /// - Returns: the next one, which holds for the rest of the time; nil if the door is closed now.
    package mutating func noteWrong(at now: Instant) -> PairingCode? {
        guard case .tried(_, let token, let until) = state else { return nil }
        failures += 1
        if failures >= Self.mostFailures { restsUntil = now + Self.rest }
        guard restsUntil == nil, now < until else {
            state = .closed
            return nil
        }
        let code = PairingCode.typed()
        state = .open(code, token: token, until: until)
        return code
    }

    /// The attempt has ended without a wrong code.
    package mutating func noteEnd(isPaired: Bool, at now: Instant) {
        guard case .tried(let code, let token, let until) = state else { return }
        if isPaired { failures = 0 }
        state = isPaired || now >= until ? .closed : .open(code, token: token, until: until)
    }
}
