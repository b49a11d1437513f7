package import Time

/// Announces this device by beacons, and hears those of others. Sans-IO.
///
/// The others are told at 0, 1 and 3 s, then every 30 s, and at each change; twice when the device goes. A device that begins to look asks at 0, 1
/// and 3 s, and is answered alone. A device that is silent for 65 s, two announcements and more, is lost.
package struct BeaconEngine {
    package enum Output: Equatable, Sendable {
        /// To all on all networks.
        case tellAll([UInt8])
        case tell([UInt8], Endpoint)
        case news(SightingNews)
    }

    package static let patience = Duration.seconds(65)
    /// Announcements from different places that are known at once; further ones are left out until one of these goes.
    package static let most = 1024
    /// Of one host.
    package static let mostOfHost = 16

    private static let first: [Duration] = [.zero, .seconds(1), .seconds(3)]
    /// Between two announcements, in milliseconds. Two of the longest are shorter than `patience`.
    private static let intervals = 28_000...32_000
    /// Of an answer, in milliseconds, so that not all answer at once.
    private static let answerDelays = 0...100
    /// Changes that are told, in a row and on average.
    private static let newsInterval = Duration.milliseconds(2)
    private static let newsSlack = Duration.seconds(2)
    private static let mostAnswers = 64
    private static let answerInterval = Duration.milliseconds(100)
    private static let answerSlack = Duration.seconds(2)

    /// What one host says of one device. Others can say something else of it, and do not change this.
    private struct Key: Hashable {
        let instance: [UInt8]
        let host: String
    }

    private struct Known {
        var sighting: Sighting
        var heardAt: Instant
    }

    private struct Own {
        var announcement: Announcement
        var name: String
        var port: UInt16

        func beacon(isLast: Bool = false) -> [UInt8] {
            Beacon.of(announcement, name: name, port: port, isLast: isLast).bytes
        }
    }

    private let instance: [UInt8]
    private var own: Own?
    /// Of the next announcements and queries.
    private var tellAt: [Instant] = []
    private var askAt: [Instant] = []
    private var goodbye: (bytes: [UInt8], at: Instant)?
    private var isBrowsing = false
    private var known: [Key: Known] = [:]
    /// Of `known`, by host.
    private var counts: [String: Int] = [:]
    private var newsLimit = RateLimit(interval: newsInterval, slack: newsSlack, from: .start)
    private var answers: [(endpoint: Endpoint, at: Instant)] = []
    private var answerLimit = RateLimit(interval: answerInterval, slack: answerSlack, from: .start)
    private var outputs: [Output] = []
    private var random: any RandomNumberGenerator

    /// - Parameter instance: of this device's own announcements, which are not heard.
    package init(instance: [UInt8], using random: any RandomNumberGenerator = SystemRandomNumberGenerator()) {
        (self.instance, self.random) = (instance, random)
    }

    package mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    /// When to call `poll`; nil for never.
    package var deadline: Instant? {
        var next = earliest(tellAt.first, askAt.first, goodbye?.at, answers.map(\.at).min())
        if isBrowsing { next = earliest(next, known.values.map(\.heardAt).min().map { $0 + Self.patience }) }
        return next
    }

    // MARK: - What this device does

    /// Announces this device, or what has changed.
    ///
    /// - Parameters:
    ///   - name: empty for one that only pairs may know.
    ///   - port: where it takes links, over TCP.
    package mutating func advertise(_ announcement: Announcement, name: String, port: UInt16, at now: Instant) {
        precondition(announcement.instance == instance)
        let isNew = own == nil
        own = Own(announcement: announcement, name: name, port: port)
        goodbye = nil
        // A change is told twice, as one datagram may be lost.
        tellAt = isNew ? Self.first.map { now + $0 } : [now, now + .seconds(1)]
    }

    package mutating func stopAdvertising(at now: Instant) {
        guard let own else { return }
        let bytes = own.beacon(isLast: true)
        outputs.append(.tellAll(bytes))
        goodbye = (bytes, now + .milliseconds(250))
        self.own = nil
        (tellAt, answers) = ([], [])
    }

    /// Looks for others.
    package mutating func browse(at now: Instant) {
        isBrowsing = true
        askAt = Self.first.map { now + $0 }
    }

    /// All that was seen is lost.
    package mutating func stopBrowsing() {
        isBrowsing = false
        askAt = []
        for key in known.keys { lose(key) }
    }

    /// This machine has other addresses, or was asleep.
    package mutating func networkChanged(at now: Instant) {
        if own != nil { tellAt = Self.first.map { now + $0 } }
        if isBrowsing { askAt = Self.first.map { now + $0 } }
    }

    package mutating func poll(at now: Instant) {
        if let own, let next = tellAt.first, next <= now {
            outputs.append(.tellAll(own.beacon()))
            tellAt.removeAll { $0 <= now }
            if tellAt.isEmpty { tellAt = [now + .milliseconds(Int.random(in: Self.intervals, using: &random))] }
        }
        if let next = askAt.first, next <= now {
            outputs.append(.tellAll(Beacon.query.bytes))
            askAt.removeAll { $0 <= now }
        }
        if let last = goodbye, last.at <= now {
            outputs.append(.tellAll(last.bytes))
            goodbye = nil
        }
        answer(at: now)
        for (key, device) in known where now - device.heardAt >= Self.patience { lose(key) }
    }

    // MARK: - What is heard

    /// - Parameters:
    ///   - bytes: a datagram.
    ///   - source: where it came from.
    package mutating func receive(_ bytes: some Collection<UInt8>, from source: Endpoint, at now: Instant) {
        guard let beacon = Beacon(bytes) else { return }
        switch beacon.kind {
        case .query:
            guard own != nil, answers.count < Self.mostAnswers, !answers.contains(where: { $0.endpoint == source })
            else { return }
            answers.append((source, now + .milliseconds(Int.random(in: Self.answerDelays, using: &random))))
        case .announcement:
            guard isBrowsing, let announcement = beacon.announcement, announcement.instance != instance else { return }
            note(
                announcement,
                beacon,
                Endpoint(host: source.host, interface: source.interface, port: beacon.port),
                at: now
            )
        case .goodbye:
            guard let instance = beacon.announcement?.instance,
                case let key = Key(instance: instance, host: source.host), known[key] != nil
            else { return }
            lose(key)
        }
    }

    private mutating func note(_ announcement: Announcement, _ beacon: Beacon, _ endpoint: Endpoint, at now: Instant) {
        let key = Key(instance: announcement.instance, host: endpoint.host)
        let former = known[key]
        if former == nil {
            guard known.count < Self.most, counts[key.host, default: 0] < Self.mostOfHost else { return }
        }
        let sighting = Sighting(announcement, from: endpoint.host, name: beacon.name, endpoints: [endpoint])
        guard former?.sighting != sighting else {
            known[key]!.heardAt = now
            return
        }
        // Those who change without end are heard again later.
        guard now >= newsLimit.earliest else { return }
        newsLimit.note(at: now)
        if former == nil { counts[key.host, default: 0] += 1 }
        known[key] = Known(sighting: sighting, heardAt: now)
        outputs.append(.news(.seen(sighting)))
    }

    private mutating func lose(_ key: Key) {
        known[key] = nil
        counts[key.host]! -= 1
        if counts[key.host] == 0 { counts[key.host] = nil }
        outputs.append(.news(.lost(key.instance, source: key.host)))
    }

    private mutating func answer(at now: Instant) {
        guard let own else { return }
        let due = answers.filter { $0.at <= now }
        answers.removeAll { $0.at <= now }
        // Further ones hear the next announcement to all.
        for (endpoint, _) in due where now >= answerLimit.earliest {
            answerLimit.note(at: now)
            outputs.append(.tell(own.beacon(), endpoint))
        }
    }
}
