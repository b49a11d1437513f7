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
    var id: String?
    var admission: Admission
    /// Nil for a program that is not Oriel, as far as known.
    var introduction: RoomIntroduction?
    /// The fingerprints of the one who is asked about, was let in, or was connected to last; empty if it may have any.
    private(set) var fingerprints: [Fingerprint] = []
    /// An offer of its, which waits until it is let in.
    var offer: String?
    /// Whether the path stands.
    var isTalking = false
    /// Its peer has ended: if it does not say why by the instant, that is told.
    var parting: (reason: EndReason, why: String, tellAt: Instant)?
    /// Why the path is about to end, as somebody in the room has said: it counts if the path ends by the instant.
    var farewell: (reason: EndReason, until: Instant)?
    /// Whether the path has stood.
    private(set) var hasTalked = false
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
            certificate: fingerprints.first
        )
    }

    /// From now on it must have the certificate that it names.
    mutating func bind() { bind(to: offer ?? "") }

    /// From now on it must have the certificate that it names, or else that of a description.
    mutating func bind(to sdp: String) {
        fingerprints = introduction?.fingerprint.map { [$0] } ?? Fingerprint.all(in: sdp)
    }

    /// The path stands.
    mutating func connect() { (isTalking, hasTalked, parting, farewell, vainAttempts) = (true, true, nil, nil, 0) }

    /// The path is gone, and why has been told.
    mutating func part() { (isTalking, parting, farewell) = (false, nil, nil) }

    /// Whether a description is of the one who was let in, or is connected.
    func isItsOwn(_ sdp: String) -> Bool {
        let own = fingerprints.isEmpty ? introduction?.fingerprint.map { [$0] } ?? [] : fingerprints
        return own.isEmpty || own == Fingerprint.all(in: sdp)
    }

    /// Whether somebody else in the room may take its place: nothing has come of it, and nobody is asked about it.
    var givesWay: Bool {
        switch admission {
        case .granted: !hasTalked && fingerprints.isEmpty
        case .nameless, .refused, .pointless: true
        case .unknown, .asked: false
        }
    }

    var nextDeadline: Instant? {
        if case .unknown(let until) = admission { return earliest(until, parting?.tellAt) }
        return parting?.tellAt
    }
}

/// Somebody who has come, or offers, while two are connected: a third one, or the other member again, whose end nobody has told.
struct Comer: Sendable {
    /// How long the connected one may take to be heard after that.
    private static let patience = Duration.seconds(3)
    /// How long it takes to find out when it was heard.
    private static let answerTime = Duration.milliseconds(500)

    /// Of its connection to the server; nil for one of whom nothing is known but the offer.
    let id: String?
    let since: Instant
    var introduction: RoomIntroduction?
    var offer: String?
    /// Whether it was asked when the connected one was heard.
    var isListening = false
    /// Whether the connected one is there still.
    private(set) var isThird = false

    init(id: String?, since: Instant) { (self.id, self.since) = (id, since) }

    var nextDeadline: Instant { since + Self.patience + (isListening ? Self.answerTime : .zero) }

    /// The connected one was heard last at an instant; nil if it has never said anything, which does not tell that it is gone.
    mutating func note(heardAt: Instant?) { isThird = heardAt.map { $0 > since } ?? true }
}
