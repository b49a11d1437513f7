package import Media
package import Time

/// The right to speak, and the places on the floor.
extension AccessEngine {
    /// A participant that was silent for so long is reported to people again.
    static let newsInterval = Duration.seconds(60)
    /// How long a refusal holds, and the time between two requests of one participant.
    static let refusalTime = Duration.seconds(30), askingInterval = Duration.seconds(5)
    private static let mostRefusals = 1000

    package func talkState(of id: ParticipantID) -> TalkState {
        guard talk != .off, let bearer = bearers[id], bearer.canSpeak else { return .off }
        if bearer.grant.rights.contains(.talk) { return floor.isSpeaking(id) ? .speaking : .granted }
        return bearer.wish == .made ? .asked : .none
    }

    // MARK: - Rights

    /// A participant asks to speak. One that has left is refused.
    package mutating func askToTalk(_ id: ParticipantID, at now: Instant) -> TalkAnswer {
        guard var bearer = bearers[id] else { return .refused(until: now) }
        defer { bearers[id] = bearer }
        if bearer.grant.rights.contains(.talk) {
            bearer.isClosed = false
            return .granted
        }
        switch bearer.wish {
        case .made: return .asked
        case .refused(let at) where now < at + Self.refusalTime: return .refused(until: at + Self.refusalTime)
        case .none, .refused:
            if let askedAt = bearer.askedAt, now < askedAt + Self.askingInterval {
                return .tooOften(until: askedAt + Self.askingInterval)
            }
            (bearer.wish, bearer.askedAt, bearer.isClosed) = (.made, now, false)
            tell(.talk(id, .asked))
            return .asked
        }
    }

    /// A participant stops speaking. It keeps its right for later.
    package mutating func withdraw(_ id: ParticipantID, at now: Instant) {
        guard let bearer = bearers[id] else { return }
        bearers[id]?.isClosed = true
        if bearer.wish == .made { bearers[id]?.wish = .none }
        leaveFloor(id, at: now)
    }

    /// Lets a participant speak.
    ///
    /// - Returns: false if it has left.
    @discardableResult
    package mutating func grantTalk(_ id: ParticipantID) -> Bool {
        guard let bearer = bearers[id] else { return false }
        if let guest = bearer.guest { refusals.removeAll { $0.key == guest } }
        if bearer.grant.rights.contains(.talk) { return true }
        bearers[id]?.grant.rights.insert(.talk)
        bearers[id]?.wish = .none
        tell(.talk(id, .granted))
        return true
    }

    /// Takes the right to speak from a participant, and from all others with its key.
    ///
    /// - Returns: false if it has left.
    @discardableResult
    package mutating func revokeTalk(_ id: ParticipantID, at now: Instant) -> Bool {
        guard let bearer = bearers[id] else { return false }
        var all = [id]
        if let guest = bearer.guest {
            all = participants(of: guest)
            refusals.removeAll { $0.key == guest }
            refusals.append((guest, now))
            refusals.removeFirst(max(0, refusals.count - Self.mostRefusals))
        }
        for id in all {
            leaveFloor(id, at: now)
            guard let bearer = bearers[id] else { continue }
            if bearer.grant.rights.contains(.talk) || bearer.wish == .made { tell(.talk(id, .revoked)) }
            bearers[id]?.refuseTalk(at: now)
        }
        return true
    }

    // MARK: - Voices

    /// Records sound of a participant.
    ///
    /// - Parameters:
    ///   - level: in decibels below the loudest; nil if the packet has none.
    ///   - isQuiet: whether there is only noise in it.
    /// - Returns: whether the sound is to be heard.
    package mutating func hears(_ id: ParticipantID, level: UInt8?, isQuiet: Bool, at now: Instant) -> Bool {
        guard talk != .off, let bearer = bearers[id], !bearer.isClosed else { return false }
        guard bearer.grant.rights.contains(.talk) else {
            // Programs and members of rooms have no other way to ask.
            if bearer.wish == .none {
                bearers[id]?.wish = .made
                tell(.talk(id, .asked))
            }
            return false
        }
        let (isHeard, ended) = floor.hears(id, level: level, isQuiet: isQuiet, at: now)
        noteSilence(of: ended, at: now)
        return isHeard
    }

    /// Records that a participant's voice was loud enough to be understood.
    package mutating func noteLoud(_ id: ParticipantID, at now: Instant) {
        guard floor.noteLoud(id, at: now) else { return }
        tell(.talk(id, .started(isNews: bearers[id]?.endedAt.map { now >= $0 + Self.newsInterval } ?? true)))
    }

    package func isHeard(_ id: ParticipantID) -> Bool { floor.hasPlace(id) }

    package var heard: Set<ParticipantID> { floor.heard }

    /// When a participant may have fallen silent.
    package var silenceDeadline: Instant? { floor.nextDeadline }

    mutating func leaveFloor(_ id: ParticipantID, at now: Instant) {
        if floor.leave(id) { noteSilence(of: [id], at: now) }
    }

    mutating func noteSilence(of ended: [ParticipantID], at now: Instant) {
        for id in ended {
            bearers[id]?.endedAt = now
            tell(.talk(id, .ended))
        }
    }
}
