import Time
import WebRTC

/// The other member of a room, from its coming to its going.
struct OtherMember: Sendable {
    /// Whether the two may be connected.
    enum Admission: Sendable {
        case granted
        /// It may introduce itself until an instant.
        case unknown(until: Instant)
        /// It has not told its name, which a person has to write.
        case nameless
        /// A person is asked.
        case asked
        case refused
        /// Neither would see the other.
        case pointless
    }

    /// Of its connection to the server; nil if that is not known, as for a member that was there first.
    var id: String?
    var admission: Admission
    /// Nil for a program that is probably not Oriel.
    var introduction: RoomIntroduction?
    /// The fingerprints of the last member that a person was asked about, that was let in, or that was connected; empty if any is right.
    private(set) var fingerprints: [Fingerprint] = []
    /// Its offer, which waits until it is let in.
    var offer: String?
    /// Whether the path stands.
    var isTalking = false
    /// The end of its peer, which is reported at the instant unless the member itself gives a reason before.
    var parting: (reason: EndReason, why: String, tellAt: Instant)?
    /// The reason for an end that somebody in the room has announced. It counts if the path ends by the instant.
    var farewell: (reason: EndReason, until: Instant)?
    /// Whether the path has stood.
    private(set) var hasTalked = false
    /// Attempts in a row that ended for good.
    var vainAttempts = 0

    init(id: String?, _ admission: Admission) { (self.id, self.admission) = (id, admission) }

    /// Lets a person be asked. Returns the question, with the certificate that identifies the member later.
    mutating func ask() -> RoomSession.Output {
        admission = .asked
        bind()
        return .ask(
            name: introduction?.name ?? id ?? "",
            note: introduction?.note ?? "",
            certificate: fingerprints.first
        )
    }

    /// Binds the member to the certificate that it names.
    mutating func bind() { bind(to: offer ?? "") }

    /// Binds the member to the certificate that it names, or else to that of a description.
    mutating func bind(to sdp: String) {
        fingerprints = introduction?.fingerprint.map { [$0] } ?? Fingerprint.all(in: sdp)
    }

    /// The path stands.
    mutating func connect() { (isTalking, hasTalked, parting, farewell, vainAttempts) = (true, true, nil, nil, 0) }

    /// The path is gone, and its end was reported.
    mutating func part() { (isTalking, parting, farewell) = (false, nil, nil) }

    /// Whether a description is of the member that was let in, or is connected.
    func isItsOwn(_ sdp: String) -> Bool {
        let own = fingerprints.isEmpty ? introduction?.fingerprint.map { [$0] } ?? [] : fingerprints
        return own.isEmpty || own == Fingerprint.all(in: sdp)
    }

    /// Whether somebody else in the room may take its place: it was never connected, and nobody is asked about it.
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

/// A newcomer, or the sender of an offer, while two are connected: a third member, or the other one again after an unnoticed end.
struct Comer: Sendable {
    /// The longest time until the connected one is heard again.
    private static let patience = Duration.seconds(3)
    /// The time to find out when it was heard.
    private static let answerTime = Duration.milliseconds(500)

    /// Of its connection to the server; nil if only the offer is known.
    let id: String?
    let since: Instant
    var introduction: RoomIntroduction?
    var offer: String?
    /// Whether the session has asked when the connected one was heard.
    var isListening = false
    /// Whether the connected one is still there.
    private(set) var isThird = false

    init(id: String?, since: Instant) { (self.id, self.since) = (id, since) }

    var nextDeadline: Instant { since + Self.patience + (isListening ? Self.answerTime : .zero) }

    /// Notes when the connected one was heard last; nil for never, which does not mean that it is gone.
    mutating func note(heardAt: Instant?) { isThird = heardAt.map { $0 > since } ?? true }
}
