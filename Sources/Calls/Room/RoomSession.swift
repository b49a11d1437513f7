package import Access
package import Time
package import WebRTC

/// A member's side of a one-to-one room: joins, negotiates with the other member if that is let in, and joins again after the loss of the
/// connection. Sans-IO: after each call perform the result of `takeOutputs`, and call `tick` at `nextDeadline`.
package struct RoomSession: Sendable {
    package enum Output: Sendable, Equatable {
        case emit(RoomEvent)
        /// Close the peer if there is one.
        case closePeer
        /// Make a peer, have it offer, and pass that on with `described`.
        case offer
        /// Make a peer, have it answer an offer, and pass that on with `described`.
        case acceptOffer(sdp: String)
        case acceptAnswer(sdp: String)
        /// A line `candidate:…`.
        case addCandidate(line: String)
        /// Ask a person whether the other member is let in, unless its certificate is known, and pass the answer on with `answered`. A member
        /// without a name is named by the id of its connection, if that is known.
        case ask(name: String, note: String, certificate: Fingerprint?)
        /// Call `recognized` if the other member's certificate is known. It has not told its name yet.
        case recognize(Fingerprint)
        /// Nobody needs to be asked any more.
        case askNoMore
        /// Find out when the peer was heard last, and pass the time on with `heard`.
        case listen
        /// Have the peer leave out sound, as the other member's buffer is so much too long.
        case skipSound(Duration)
        /// The other member lets people in one by one.
        case waiting
        /// Neither side would see the other.
        case pointless
        /// The other member is gone, or there is no call with it. `why` is nil for the usual words.
        case parted(EndReason, why: String?)
        /// A third member was told that this side is busy.
        case turnedAway
        /// An event or message without an effect, with the reason.
        case ignored(String)
        /// The last output.
        case ended(End)
    }

    package enum End: Sendable, Equatable {
        case left
        case full
        /// The server has removed the member from the room.
        case sentAway
        /// The other member has refused or ended the call.
        case dismissed(EndReason)
    }

    /// The exchange of offer and answer with the other member.
    struct Negotiation {
        enum Stage {
            case none
            /// This side's offer is being made, or is on its way.
            case offering
            /// The other one's offer is being answered.
            case answering
            case settled
        }

        var stage = Stage.none
        /// The ICE user name fragment of the other side's description.
        var remoteFragment: String?
        /// Candidates that wait for that description.
        var held: [String] = []
    }

    /// A server may hold the seat of a lost connection as long as it waits for pings.
    private static let seatTimeout = Duration.seconds(45)
    static let retryInterval = Duration.seconds(1)
    /// The wait before another offer if no peer could be made for one.
    private static let refusalPause = Duration.seconds(10)
    /// After so many final failures in a row, only the other member begins again.
    private static let mostVainAttempts = 2
    /// The longest time for a new member's introduction, and for a reason after the end of a peer.
    static let (introductionTime, goodbyeTime) = (Duration.seconds(2), Duration.seconds(1))
    /// The longest time from an announced end to the end of the path.
    static let farewellTime = Duration.seconds(10)
    /// The most candidates that wait for their description.
    static let mostHeld = 64
    /// The most members beyond two that are remembered.
    static let mostThirds = 16

    let room: String
    let introduction: RoomIntroduction
    var state = RoomState.initial
    var negotiation = Negotiation()
    /// Whether the other member came later. Then this side's offer has priority.
    var wasFirst = false
    /// The id of this connection to the server.
    var ownID = ""
    var other: OtherMember?
    var comer: Comer?
    /// The ids of the other members, if the room has more than two seats.
    var thirds: [String] = []
    /// The sender of the next message; nil if the server does not tell it.
    private var sender: String?
    /// Whether the server tells the sender of each message.
    var namesSenders = false
    /// The time until which this member's old seat may fill the room.
    var seatHeldUntil: Instant?
    var retryAt: Instant?
    var offerAt: Instant?
    /// The waits before another offer after the loss of a path. The member that came later waits twice as long.
    var backoff = Backoff(.seconds(1)...(.seconds(30)))
    var isEnding = false
    var outputs: [Output] = []

    /// - Parameter introduction: of this side. If it `asks`, it connects only to members that somebody has let in.
    package init(room: String, _ introduction: RoomIntroduction = RoomIntroduction()) {
        (self.room, self.introduction) = (room, introduction)
    }

    /// Whether this side has begun to connect to the other member.
    package var isConnected: Bool { state == .connected }

    package var nextDeadline: Instant? {
        [retryAt, offerAt, other?.nextDeadline, comer?.nextDeadline].compactMap(\.self).min()
    }

    package mutating func takeOutputs() -> [Output] { exchange(&outputs, with: []) }

    // MARK: - Events

    /// The connection to the server stands.
    package mutating func connected() { change(.join) }

    /// The connection to the server is gone; the peer stays.
    package mutating func lost(now: Instant) {
        if state.isInRoom { seatHeldUntil = now + Self.seatTimeout }
        (retryAt, offerAt, comer, thirds) = (nil, nil, nil, [])
        if !(other?.isTalking ?? false) { forgetOther() }
        change(.lost)
        if isEnding { outputs.append(.ended(.left)) }
    }

    /// Leaves, and says goodbye. `ended` follows when the server knows, or cannot know.
    package mutating func leave() {
        isEnding = true
        guard state.isInRoom else { return outputs.append(.ended(.left)) }
        say(.hungUp)
        change(.leave)
    }

    /// Sends the other member away until it comes anew.
    package mutating func kick() {
        guard other != nil else { return }
        say(.kicked)
        refuse()
        outputs.append(.parted(.kicked, why: nil))
    }

    /// The answer to the other member's knock.
    ///
    /// - Parameter answer: nil if too many wait.
    package mutating func answered(_ answer: KnockAnswer?) {
        guard case .asked? = other?.admission else { return }
        switch answer {
        case .accepted?: admit()
        case .noAnswer?:
            other?.admission = .nameless
            say(.noAnswer)
        case .rejected?:
            other?.admission = .refused
            say(.rejected)
        case .cancelled?: other?.admission = .refused
        case nil:
            other?.admission = .refused
            say(.busy)
        }
    }

    /// The other member's certificate is known.
    package mutating func recognized() {
        guard case .nameless? = other?.admission, other?.introduction?.fingerprint != nil else { return }
        other?.bind()
        admit()
    }

    package mutating func tick(now: Instant) {
        if let retryAt, retryAt <= now {
            self.retryAt = nil
            change(.join)
        }
        if let offerAt, offerAt <= now {
            self.offerAt = nil
            // Another one may have come, or it may show another certificate.
            if case .granted? = other?.admission { change(.otherJoined) }
        }
        if case .unknown(let until)? = other?.admission, until <= now { ask() }
        if let parting = other?.parting, parting.tellAt <= now { part(parting.reason, parting.why) }
        guard let comer, comer.nextDeadline <= now else { return }
        if comer.isListening {
            judge(comer, now: now)
        } else {
            self.comer?.isListening = true
            outputs.append(.listen)
        }
    }

    package mutating func received(_ event: RoomEvent, now: Instant) {
        switch event {
        case .joined(room, let id):
            ownID = id
            let isNew = !state.isInRoom
            if isNew { forgetOther() }
            if isNew { (sender, namesSenders) = (nil, false) }
            change(.joined)
            if isNew { emit(.hello(introduction)) }
        case .otherJoined(room, let id): came(id, now: now)
        case .bye(room, let id): went(id, now: now)
        case .leaved(room, _):
            change(.leaved)
            outputs.append(.ended(isEnding ? .left : .sentAway))
        case .full(room, _): full(now: now)
        case .sender(room, let id): (sender, namesSenders) = (id, true)
        case .message(room, let data):
            let sender = sender.take()
            guard let message = RoomMessage(data) else {
                return outputs.append(.ignored("a message that is no offer, answer or candidate"))
            }
            received(message, from: sender, now: now)
        default: outputs.append(.ignored("an event of another room, or that no server sends"))
        }
    }

    /// The peer has made its offer or answer.
    package mutating func described(_ sdp: String) {
        switch negotiation.stage {
        case .offering: emit(.offer(sdp: sdp))
        case .answering:
            negotiation.stage = .settled
            emit(.answer(sdp: sdp))
        case .none, .settled: break
        }
    }

    /// A message with an offer that cannot be answered. It changes nothing. If neither side would see the other, it is not reported either,
    /// as each side offers before it knows that.
    ///
    /// - Parameter flaw: the reason, for people.
    package mutating func received(uselessOffer flaw: String) {
        sender = nil
        if case .pointless? = other?.admission { return }
        outputs.append(.ignored(flaw))
    }

    /// The peer has ended by itself: no path was found, or it is lost.
    package mutating func peerEnded(_ reason: EndReason, _ why: String, isFinal: Bool, now: Instant) {
        change(.bye)
        if takeFarewell(now: now) {
            // The reason has come.
        } else if let other, other.isTalking, other.introduction != nil, state == .unbound {
            // Its reason comes by another way.
            self.other?.parting = (reason, why, now + Self.goodbyeTime)
        } else {
            outputs.append(.parted(reason, why: why))
        }
        other?.isTalking = false
        guard state == .unbound else { return }
        if let comer {
            self.comer = nil
            return meet(comer, now: now)
        }
        if isFinal { other?.vainAttempts += 1 }
        guard let other, case .granted = other.admission, other.vainAttempts < Self.mostVainAttempts else { return }
        let wait = backoff.fail()
        offerAt = now + (wasFirst ? wait : wait * 2)
    }

    /// No peer was made, as too many were made lately. This side offers a little later.
    package mutating func peerRefused(now: Instant) {
        change(.bye)
        if other?.isTalking ?? false { part(.lost, "has made more offers than one call needs") }
        if case .granted? = other?.admission { offerAt = now + Self.refusalPause }
    }

    package mutating func peerConnected() {
        backoff.succeed()
        other?.connect()
    }

    /// When the peer was heard last; nil if it is there and was never heard.
    package mutating func heard(at instant: Instant?) { comer?.note(heardAt: instant) }
}
