import Media
import Time

@testable import Access

/// The engine of speech as it was: an oracle.
///
/// Who of a sender's peers may speak, and who is heard of those who speak at once.
///
/// Only so many are heard as there are places. Who speaks first has a place, until it has been silent for a second and somebody else
/// speaks.
struct FormerTalkers {
    /// What happens, by the peer.
    enum Event: Equatable, Sendable {
        case asked(ParticipantID)
        case granted(ParticipantID)
        /// It is not heard any more, or is not going to be, as somebody says so.
        case revoked(ParticipantID)
        /// It is heard. It is news if it has not been for a minute.
        case started(ParticipantID, isNews: Bool)
        case ended(ParticipantID)
    }

    private enum Right: Equatable {
        case none, asked, granted
        case refused(at: Instant)
    }

    /// One that is heard if it says something.
    private struct Place {
        let since: Instant
        /// When something came, and when that was last loud.
        var heardAt: Instant
        var loudAt: Instant?
        var isSpeaking = false

        /// Since when there is nothing to hear.
        var quietSince: Instant { loudAt ?? since }
    }

    private struct Talker {
        var right: Right
        /// By what it is known again; nil for nothing.
        var key: GuestKey?
        /// Whether it says itself that it does not speak, whatever comes.
        var isClosed = false
        var askedAt: Instant?
        /// When it was heard last.
        var endedAt: Instant?
    }

    /// How many may be heard at once.
    static let placeLimits = 1...4
    /// Who is quiet for so long loses the place to one that speaks, or to anybody if nothing comes at all.
    static let patience = Duration.seconds(1)
    /// A pause of speech.
    static let pause = Duration.seconds(2)
    /// How long one is quiet who is told of again, to people.
    static let newsInterval = Duration.seconds(60)
    /// How long somebody has peace who said no, and between two questions of the same peer.
    static let refusalTime = Duration.seconds(30), askingInterval = Duration.seconds(5)
    /// Refusals that are remembered.
    private static let mostRefusals = 1000
    /// RFC 6464: 50 dB below the loudest, a voice is not understood.
    private static let faintest: UInt8 = 50

    private let policy: TalkPolicy
    private let placeCount: Int
    /// Those who are there, by peers, as the places are.
    private var talkers: [ParticipantID: Talker] = [:]
    private var places: [ParticipantID: Place] = [:]
    /// The keys of those who may not speak, and since when; the latest come last.
    private var refusals: [(key: GuestKey, at: Instant)] = []
    private var events: [Event] = []

    /// - Parameter places: within `placeLimits`.
    init(_ policy: TalkPolicy, places: Int) {
        precondition(Self.placeLimits ~= places)
        (self.policy, placeCount) = (policy, places)
    }

    mutating func takeEvents() -> [Event] {
        defer { events.removeAll() }
        return events
    }

    func state(of peer: ParticipantID) -> TalkState {
        guard policy != .off, let talker = talkers[peer] else { return .off }
        switch talker.right {
        case .none, .refused: return .none
        case .asked: return .asked
        case .granted: return places[peer]?.isSpeaking ?? false ? .speaking : .granted
        }
    }

    // MARK: - Rights

    /// A peer has come.
    mutating func begin(_ peer: ParticipantID) {
        talkers[peer] = Talker(right: policy == .on ? .granted : .none)
    }

    /// A peer that has come is known again by a key. One that may not speak does not get around that by coming anew.
    mutating func identify(_ peer: ParticipantID, by key: GuestKey) {
        talkers[peer]?.key = key
        if let refusal = refusals.last(where: { $0.key == key }) { talkers[peer]?.right = .refused(at: refusal.at) }
    }

    /// A peer wants to speak. One that has gone is not heard.
    mutating func ask(_ peer: ParticipantID, at now: Instant) -> TalkAnswer {
        guard var talker = talkers[peer] else { return .refused(until: now) }
        defer { talkers[peer] = talker }
        switch talker.right {
        case .granted:
            talker.isClosed = false
            return .granted
        case .asked: return .asked
        case .refused(let at) where now < at + Self.refusalTime: return .refused(until: at + Self.refusalTime)
        case .none, .refused:
            if let askedAt = talker.askedAt, now < askedAt + Self.askingInterval {
                return .tooOften(until: askedAt + Self.askingInterval)
            }
            (talker.right, talker.askedAt, talker.isClosed) = (.asked, now, false)
            events.append(.asked(peer))
            return .asked
        }
    }

    /// A peer does not want to speak any more. A right that it has it keeps for later.
    mutating func withdraw(_ peer: ParticipantID, at now: Instant) {
        guard var talker = talkers[peer] else { return }
        talker.isClosed = true
        if talker.right == .asked { talker.right = .none }
        talkers[peer] = talker
        leavePlace(peer, at: now)
    }

    /// Somebody lets a peer speak. Returns whether it is there.
    @discardableResult
    mutating func grant(_ peer: ParticipantID) -> Bool {
        guard let talker = talkers[peer] else { return false }
        if let key = talker.key { refusals.removeAll { $0.key == key } }
        if talker.right == .granted { return true }
        talkers[peer]?.right = .granted
        events.append(.granted(peer))
        return true
    }

    /// Somebody lets a peer not speak, or speak no more, and with it all others of its key. Returns whether it is there.
    @discardableResult
    mutating func revoke(_ peer: ParticipantID, at now: Instant) -> Bool {
        guard let talker = talkers[peer] else { return false }
        var peers = [peer]
        if let key = talker.key {
            peers = talkers.filter { $0.value.key == key }.keys.sorted()
            refusals.removeAll { $0.key == key }
            refusals.append((key, now))
            refusals.removeFirst(max(0, refusals.count - Self.mostRefusals))
        }
        for peer in peers {
            leavePlace(peer, at: now)
            if [.asked, .granted].contains(talkers[peer]?.right) { events.append(.revoked(peer)) }
            talkers[peer]?.right = .refused(at: now)
        }
        return true
    }

    /// A peer has gone.
    mutating func end(_ peer: ParticipantID, at now: Instant) {
        leavePlace(peer, at: now)
        talkers[peer] = nil
    }

    // MARK: - Places

    /// Sound of a peer has come. Returns whether it is to be heard.
    ///
    /// - Parameters:
    ///   - level: in decibels below the loudest; nil if it does not say.
    ///   - isQuiet: whether there is nothing in it but noise.
    mutating func hears(_ peer: ParticipantID, level: UInt8?, isQuiet: Bool, at now: Instant) -> Bool {
        if policy == .off { return false }
        guard var talker = talkers[peer], !talker.isClosed else { return false }
        if talker.right == .none {
            // Programs and members of rooms have no other way to ask.
            talker.right = .asked
            events.append(.asked(peer))
        }
        talkers[peer] = talker
        guard talker.right == .granted else { return false }
        releasePlaces(but: peer, at: now)
        if places[peer] == nil {
            let isLoud = level.map { $0 <= Self.faintest } ?? true
            guard !isQuiet, makePlace(forLoud: isLoud, at: now) else { return false }
            places[peer] = Place(since: now, heardAt: now)
        }
        places[peer]?.heardAt = now
        return true
    }

    /// Returns whether there is a place; if need be, that of one who is quiet.
    private mutating func makePlace(forLoud isLoud: Bool, at now: Instant) -> Bool {
        if places.count < placeCount { return true }
        guard isLoud, let quietest = places.min(by: { $0.value.quietSince < $1.value.quietSince }),
            now >= quietest.value.quietSince + Self.patience
        else { return false }
        leavePlace(quietest.key, at: now)
        return true
    }

    /// What was heard of a peer is loud enough to be understood.
    mutating func noteLoud(_ peer: ParticipantID, at now: Instant) {
        guard var place = places[peer] else { return }
        place.loudAt = now
        if !place.isSpeaking {
            place.isSpeaking = true
            let endedAt = talkers[peer]?.endedAt
            events.append(.started(peer, isNews: endedAt.map { now >= $0 + Self.newsInterval } ?? true))
        }
        places[peer] = place
    }

    /// Whether what a peer says is heard.
    func hasPlace(_ peer: ParticipantID) -> Bool { places[peer] != nil }

    /// Whose words are heard.
    var heard: Set<ParticipantID> { Set(places.keys) }

    /// Takes note of who has fallen silent.
    mutating func tick(at now: Instant) { releasePlaces(at: now) }

    private mutating func releasePlaces(but present: ParticipantID? = nil, at now: Instant) {
        for (peer, place) in places where peer != present {
            if now >= place.heardAt + Self.patience {
                leavePlace(peer, at: now)
            } else if place.isSpeaking, now >= place.quietSince + Self.pause {
                places[peer]?.isSpeaking = false
                noteEnd(peer, at: now)
            }
        }
    }

    private mutating func leavePlace(_ peer: ParticipantID, at now: Instant) {
        if places.removeValue(forKey: peer)?.isSpeaking ?? false { noteEnd(peer, at: now) }
    }

    private mutating func noteEnd(_ peer: ParticipantID, at now: Instant) {
        talkers[peer]?.endedAt = now
        events.append(.ended(peer))
    }

    /// When `tick` may have something to do; nil while nobody has a place.
    var nextDeadline: Instant? {
        places.values.map { place in
            let end = place.heardAt + Self.patience
            return place.isSpeaking ? min(end, place.quietSince + Self.pause) : end
        }.min()
    }
}
