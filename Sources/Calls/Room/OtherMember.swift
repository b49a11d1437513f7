import Time
import WebRTC

/// What a member of a room knows of the other one, from its coming to its going.
struct OtherMember: Sendable {
    /// Whether the two may be connected.
    enum Admission: Sendable {
        case granted
        /// Whether it knows how to introduce itself shows by an instant.
        case unknown(until: Instant)
        /// It has yet to tell its name: a person writes that.
        case nameless
        /// A person is asked.
        case asked
        case refused
        /// Neither would see the other.
        case pointless
    }

    /// Of its connection to the server; nil if that is not known, as of one who was there before.
    let id: String?
    var admission: Admission
    /// Nil for a program that is not Oriel, as far as known.
    var introduction: RoomIntroduction?
    /// The certificate of the one who was let in; nil if it may have any.
    private(set) var certificate: Fingerprint?
    /// An offer of its, which waits until it is let in.
    var offer: String?
    /// Whether the path stands.
    var isTalking = false
    /// Its peer has ended: if it does not say why by the instant, that is told.
    var parting: (reason: EndReason, why: String, tellAt: Instant)?
    /// How many attempts in a row ended as every other would.
    var vainAttempts = 0

    init(id: String?, _ admission: Admission) { (self.id, self.admission) = (id, admission) }

    /// Has a person asked. Returns what that person is told, and the certificate by which the member can be known again.
    mutating func ask() -> RoomSession.Output {
        admission = .asked
        bind()
        return .ask(
            name: introduction?.name ?? id ?? "",
            note: introduction?.note ?? "",
            certificate: certificate
        )
    }

    /// From now on it must have the certificate that it names.
    mutating func bind() { certificate = introduction?.fingerprint ?? offer.flatMap { Fingerprint(onlyOneIn: $0) } }

    /// The path stands.
    mutating func connect() { (isTalking, parting, vainAttempts) = (true, nil, 0) }

    /// The path is gone, and why has been told.
    mutating func part() { (isTalking, parting) = (false, nil) }

    /// Whether a description is of the one who was let in.
    func isItsOwn(_ sdp: String) -> Bool { certificate.map { Fingerprint(onlyOneIn: sdp) == $0 } ?? true }

    var nextDeadline: Instant? {
        if case .unknown(let until) = admission { return earliest(until, parting?.tellAt) }
        return parting?.tellAt
    }
}

/// Somebody who has come while two are connected: a third one, or the other member again, whose end nobody has told.
struct Comer: Sendable {
    /// How long the connected one may take to be heard after that.
    private static let patience = Duration.seconds(3)
    /// How long it takes to find out when it was heard.
    private static let answerTime = Duration.milliseconds(500)

    let id: String
    let since: Instant
    var introduction: RoomIntroduction?
    /// Whether it was asked when the connected one was heard.
    var isListening = false
    /// When the connected one was heard last.
    var heardAt: Instant?

    init(id: String, since: Instant) { (self.id, self.since) = (id, since) }

    var nextDeadline: Instant { since + Self.patience + (isListening ? Self.answerTime : .zero) }

    /// The connected one is there still.
    var isThird: Bool { heardAt.map { $0 > since } ?? false }
}
