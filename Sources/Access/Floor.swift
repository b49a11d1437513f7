import Media
import Time

/// Who is heard of those who may speak: only so many as there are places. Whoever speaks first has one, until it has been silent for a
/// second and somebody else speaks. Sans-IO.
package struct Floor: Sendable {
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

    /// How many may be heard at once.
    package static let placeLimits = 1...4
    /// Whoever is quiet for so long loses the place to one that speaks, or to anybody if nothing comes at all.
    static let patience = Duration.seconds(1)
    /// A pause of speech.
    static let pause = Duration.seconds(2)
    /// RFC 6464: 50 dB below the loudest, a voice is not understood.
    private static let faintest: UInt8 = 50

    private let placeCount: Int
    private var places: [ParticipantID: Place] = [:]

    /// - Parameter places: within `placeLimits`.
    init(places: Int) {
        precondition(Self.placeLimits ~= places)
        placeCount = places
    }

    /// Sound has come of one that may speak.
    ///
    /// - Parameters:
    ///   - level: in decibels below the loudest; nil if it does not say.
    ///   - isQuiet: whether there is nothing in it but noise.
    /// - Returns: whether it is heard; and those who speak no more.
    mutating func hears(
        _ id: ParticipantID,
        level: UInt8?,
        isQuiet: Bool,
        at now: Instant
    ) -> (isHeard: Bool, ended: [ParticipantID]) {
        var ended = release(but: id, at: now)
        if places[id] == nil {
            let isLoud = level.map { $0 <= Self.faintest } ?? true
            guard !isQuiet, makePlace(forLoud: isLoud, at: now, &ended) else { return (false, ended) }
            places[id] = Place(since: now, heardAt: now)
        }
        places[id]?.heardAt = now
        return (true, ended)
    }

    /// Returns whether there is a place; if need be, that of one who is quiet.
    private mutating func makePlace(forLoud isLoud: Bool, at now: Instant, _ ended: inout [ParticipantID]) -> Bool {
        if places.count < placeCount { return true }
        guard isLoud, let quietest = places.min(by: { $0.value.quietSince < $1.value.quietSince }),
            now >= quietest.value.quietSince + Self.patience
        else { return false }
        if leave(quietest.key) { ended.append(quietest.key) }
        return true
    }

    /// What was heard of somebody is loud enough to be understood.
    ///
    /// - Returns: whether it begins to speak.
    mutating func noteLoud(_ id: ParticipantID, at now: Instant) -> Bool {
        guard var place = places[id] else { return false }
        let wasSpeaking = place.isSpeaking
        (place.loudAt, place.isSpeaking) = (now, true)
        places[id] = place
        return !wasSpeaking
    }

    /// Takes a place back.
    ///
    /// - Returns: whether somebody was speaking there.
    mutating func leave(_ id: ParticipantID) -> Bool { places.removeValue(forKey: id)?.isSpeaking ?? false }

    /// Takes note of whoever has fallen silent.
    ///
    /// - Parameter present: one whose sound has just come.
    /// - Returns: those who speak no more.
    mutating func release(but present: ParticipantID? = nil, at now: Instant) -> [ParticipantID] {
        var ended: [ParticipantID] = []
        for (id, place) in places where id != present {
            if now >= place.heardAt + Self.patience {
                if leave(id) { ended.append(id) }
            } else if place.isSpeaking, now >= place.quietSince + Self.pause {
                places[id]?.isSpeaking = false
                ended.append(id)
            }
        }
        return ended
    }

    func isSpeaking(_ id: ParticipantID) -> Bool { places[id]?.isSpeaking ?? false }

    /// Those with places.
    var heard: Set<ParticipantID> { Set(places.keys) }

    /// Whether what somebody says is heard.
    func hasPlace(_ id: ParticipantID) -> Bool { places[id] != nil }

    /// When `release` may have something to do; nil while nobody has a place.
    var nextDeadline: Instant? {
        places.values.map { place in
            let end = place.heardAt + Self.patience
            return place.isSpeaking ? min(end, place.quietSince + Self.pause) : end
        }.min()
    }
}
