import Sodium
package import Time

/// When others may pair with this device: while it shows a code, which is tried once. Sans-IO.
///
/// Several may begin at once; the first one that shows which code it believes in has the try. Five tries in vain within a quarter of an hour
/// lock the door until a quarter after the last one. So a device that guesses is right in one of 200,000 quarters.
package struct PairingDoor {
    /// How long a code is shown.
    package static let codeLifetime = Duration.seconds(120)
    package static let mostTries = 5
    package static let lockout = Duration.seconds(900)

    /// A run that was let in.
    package struct Attempt: Equatable, Sendable {
        package let code: PairingCode
        fileprivate let number: Int
    }

    private struct Shown {
        let code: PairingCode
        let token: [UInt8]
        let until: Instant
        let number: Int
        var isTried = false
    }

    private var shown: Shown?
    private var codes = 0
    /// The latest tries, but for those that have paired.
    private var tries: [(number: Int, at: Instant)] = []

    package init() {}

    /// Shows a code.
    ///
    /// - Returns: the code; nil while the door is locked after wrong codes.
    package mutating func open(at now: Instant, _ code: PairingCode = .typed()) -> PairingCode? {
        guard !isLocked(at: now) else { return nil }
        show(code, Randomness.bytes(PairingFrame.Hello.tokenLength), until: now + Self.codeLifetime)
        return code
    }

    /// Also before this machine sleeps: the clock does not count that time.
    package mutating func close() { shown = nil }

    /// Needed to begin; announced while a code is shown.
    package var token: [UInt8]? { shown?.token }

    /// When the code expires; nil without one.
    package var deadline: Instant? { shown?.until }

    /// Closes a door whose code has expired.
    package mutating func expire(at now: Instant) {
        if let shown, now >= shown.until { close() }
    }

    /// Somebody wants to pair.
    ///
    /// - Parameter token: of its HELLO.
    package mutating func admit(_ token: [UInt8], at now: Instant) throws(PairingFailure) -> Attempt {
        guard let shown, Hash.areEqual(token, shown.token) else { throw .refused }
        guard now < shown.until else {
            close()
            throw .late
        }
        if shown.isTried { throw .busy }
        return Attempt(code: shown.code, number: shown.number)
    }

    /// Somebody shows by which code it believes in.
    ///
    /// - Returns: whether the code may be compared: it is the one that is shown, and was not tried.
    package mutating func claim(_ attempt: Attempt, at now: Instant) -> Bool {
        guard shown?.number == attempt.number, shown?.isTried == false, now < shown!.until, !isLocked(at: now) else {
            return false
        }
        shown!.isTried = true
        tries = (tries + [(attempt.number, now)]).suffix(Self.mostTries)
        return true
    }

    /// The run that has claimed the code has ended.
    ///
    /// - Returns: the next code, which is shown for the rest of the time; nil if the door is closed now, or shows another one already.
    package mutating func noteEnd(_ attempt: Attempt, isPaired: Bool, at now: Instant) -> PairingCode? {
        if isPaired { tries.removeAll { $0.number == attempt.number } }
        guard let former = shown, former.number == attempt.number, former.isTried else { return nil }
        guard !isPaired, now < former.until, !isLocked(at: now) else {
            close()
            return nil
        }
        let code = former.code.isTyped ? PairingCode.typed() : .photographed()
        show(code, former.token, until: former.until)
        return code
    }

    private func isLocked(at now: Instant) -> Bool {
        guard tries.count == Self.mostTries, let first = tries.first, let last = tries.last else { return false }
        return last.at - first.at < Self.lockout && now - last.at < Self.lockout
    }

    private mutating func show(_ code: PairingCode, _ token: [UInt8], until: Instant) {
        codes += 1
        shown = Shown(code: code, token: token, until: until, number: codes)
    }
}
