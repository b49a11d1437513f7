package import Access
package import Time
package import WebRTC

/// A member's side of a one-to-one room: joins, negotiates with the other member if that is let in, and joins again after the
/// connection was lost. Sans-IO: after each call, do what `takeOutputs` says, and call `tick` when `nextDeadline` comes.
package struct RoomSession: Sendable {
    package enum Output: Sendable, Equatable {
        case emit(RoomEvent)
        case openPeer
        case closePeer
        /// Have the peer offer, and pass that on with `described`.
        case offer
        /// Have the peer answer an offer, and pass that on with `described`.
        case acceptOffer(sdp: String)
        case acceptAnswer(sdp: String)
        /// A line `candidate:…`.
        case addCandidate(line: String)
        /// Have a person asked whether the other member is let in, unless its certificate is known, and pass that on with
        /// `answered`. A member that cannot tell its name is named by the id of its connection, if that is known.
        case ask(name: String, note: String, certificate: Fingerprint?)
        /// Pass on with `recognized` whether the other member's certificate is known: it has not told its name yet.
        case recognize(Fingerprint)
        /// Nobody needs to be asked any more.
        case askNoMore
        /// Find out when the peer was heard last, and pass that on with `heard`.
        case listen
        /// Have the peer leave out sound, as the other member has as much in its buffer.
        case skipSound(Duration)
        /// The other member lets people in one by one.
        case waiting
        /// Neither side would see the other.
        case pointless
        /// The other member is gone, or there is no call with it, and why; `nil` for the usual words.
        case parted(EndReason, why: String?)
        /// A third member was told that this side is busy.
        case turnedAway
        /// What came does nothing, and why.
        case ignored(String)
        /// The last output.
        case ended(End)
    }

    package enum End: Sendable, Equatable {
        case left
        case full
        /// The server has let the member go without being asked.
        case sentAway
        /// The other member does not want the call: it said so.
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

    /// A server may hold the seat of a connection that was lost for as long as it waits for pings.
    private static let seatTimeout = Duration.seconds(45)
    static let retryInterval = Duration.seconds(1)
    /// How long this side waits with an offer after it could make no peer for one.
    private static let refusalPause = Duration.seconds(10)
    /// After so many attempts in a row with a final failure, only the other member begins again.
    private static let mostVainAttempts = 2
    /// How long a new member may take to introduce itself, and one whose peer has ended to say why.
    static let (introductionTime, goodbyeTime) = (Duration.seconds(2), Duration.seconds(1))
    /// How long the path may stand after somebody has said that the other member ends it.
    static let farewellTime = Duration.seconds(10)
    /// Candidates that wait for the description that they belong to.
    static let mostHeld = 64
    /// Members of a room at the most: those beyond two are remembered.
    static let mostThirds = 16

    let room: String
    let introduction: RoomIntroduction
    var state = RoomState.initial
    var negotiation = Negotiation()
    /// Whether the other member came later: then this side's offer goes before one of the other's.
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
    /// Until when this member's own old seat may be the reason that the room is full.
    var seatHeldUntil: Instant?
    var retryAt: Instant?
    var offerAt: Instant?
    /// How long after the path to the other member was lost this side offers again, if that is still there. The member that came later waits
    /// twice as long.
    var backoff = Backoff(.seconds(1)...(.seconds(30)))
    var isEnding = false
    var outputs: [Output] = []

    /// - Parameter introduction: of this side. If it `asks`, others are connected to only when somebody has let them in.
    package init(room: String, _ introduction: RoomIntroduction = RoomIntroduction()) {
        (self.room, self.introduction) = (room, introduction)
    }

    /// Whether this side has begun to connect to the other member.
    package var isConnected: Bool { state == .connected }

    package var nextDeadline: Instant? {
        [retryAt, offerAt, other?.nextDeadline, comer?.nextDeadline].compactMap(\.self).min()
    }

    package mutating func takeOutputs() -> [Output] {
        defer { outputs = [] }
        return outputs
    }

    // MARK: - What happens

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

    /// The member leaves, and says goodbye. `ended` follows when the server knows, or cannot be told.
    package mutating func leave() {
        isEnding = true
        guard state.isInRoom else { return outputs.append(.ended(.left)) }
        say(.hungUp)
        change(.leave)
    }

    /// Sends the other member away, and has it stay away until it comes anew.
    package mutating func kick() {
        guard other != nil else { return }
        say(.kicked)
        refuse()
        outputs.append(.parted(.kicked, why: nil))
    }

    /// Somebody has answered whether the other member is let in, or it is known.
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

    /// The peer has made the offer or the answer that was asked for.
    package mutating func described(_ sdp: String) {
        switch negotiation.stage {
        case .offering: emit(.offer(sdp: sdp))
        case .answering:
            negotiation.stage = .settled
            emit(.answer(sdp: sdp))
        case .none, .settled: break
        }
    }

    /// A message with an offer that cannot be answered. It changes nothing, and of two that show nothing it is not told: each has
    /// offered before it knew of the other.
    ///
    /// - Parameter flaw: why, for people.
    package mutating func received(uselessOffer flaw: String) {
        sender = nil
        if case .pointless? = other?.admission { return }
        outputs.append(.ignored(flaw))
    }

    /// The peer has ended by itself: no path was found, or it is lost.
    ///
    /// - Parameter isFinal: whether another attempt would end likewise.
    package mutating func peerEnded(_ reason: EndReason, _ why: String, isFinal: Bool, now: Instant) {
        change(.bye)
        if takeFarewell(now: now) {
            // It was said why.
        } else if let other, other.isTalking, other.introduction != nil, state == .unbound {
            // Its words come by another way.
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

    /// No peer was made, as too many were made lately. One is offered a little later.
    package mutating func peerRefused(now: Instant) {
        change(.bye)
        if other?.isTalking ?? false { part(.lost, "has made more offers than one call needs") }
        if case .granted? = other?.admission { offerAt = now + Self.refusalPause }
    }

    /// The peer is connected.
    package mutating func peerConnected() {
        backoff.succeed()
        other?.connect()
    }

    /// When the peer was heard last; nil if it is there and was not heard yet.
    package mutating func heard(at instant: Instant?) { comer?.note(heardAt: instant) }
}
