import Media
import Time

/// Floor control: a limited number of participants with the right to speak is heard at once. The first to speak gets a
/// place, and loses it to another speaker after a second of silence. Sans-IO.
package struct Floor: Sendable {
    private struct Place {
        let since: Instant
        /// When the last sound came, and the last loud one.
        var heardAt: Instant
        var loudAt: Instant?
        var isSpeaking = false

        /// The beginning of the present silence.
        var quietSince: Instant { loudAt ?? since }
    }

    package static let placeLimits = 1...4
    /// After so long a silence, a place goes to another speaker; without any packets, it is given up.
    static let patience = Duration.seconds(1)
    /// A speaker that is silent for so long has ended.
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

    /// Records sound of a participant with the right to speak.
    ///
    /// - Parameters: as of `AccessEngine.hears`.
    /// - Returns: whether it is heard, and the participants whose voices ended.
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

    /// Returns whether there is a free place. If need be, it takes that of a silent participant.
    private mutating func makePlace(forLoud isLoud: Bool, at now: Instant, _ ended: inout [ParticipantID]) -> Bool {
        if places.count < placeCount { return true }
        guard isLoud, let quietest = places.min(by: { $0.value.quietSince < $1.value.quietSince }),
            now >= quietest.value.quietSince + Self.patience
        else { return false }
        if leave(quietest.key) { ended.append(quietest.key) }
        return true
    }

    /// Records that a voice was loud enough to be understood.
    ///
    /// - Returns: whether a participant begins to speak.
    mutating func noteLoud(_ id: ParticipantID, at now: Instant) -> Bool {
        guard var place = places[id] else { return false }
        let wasSpeaking = place.isSpeaking
        (place.loudAt, place.isSpeaking) = (now, true)
        places[id] = place
        return !wasSpeaking
    }

    /// Frees a participant's place.
    ///
    /// - Returns: whether it was speaking.
    mutating func leave(_ id: ParticipantID) -> Bool { places.removeValue(forKey: id)?.isSpeaking ?? false }

    /// Finds the participants that have fallen silent, and frees places without packets.
    ///
    /// - Parameter present: a participant whose sound has just come.
    /// - Returns: the participants whose voices ended.
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

    var heard: Set<ParticipantID> { Set(places.keys) }

    func hasPlace(_ id: ParticipantID) -> Bool { places[id] != nil }

    /// When `release` may have something to do; nil while nobody has a place.
    var nextDeadline: Instant? {
        places.values.map { place in
            let end = place.heardAt + Self.patience
            return place.isSpeaking ? min(end, place.quietSince + Self.pause) : end
        }.min()
    }
}
