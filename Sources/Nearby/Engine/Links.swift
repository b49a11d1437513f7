import Discovery
import Link
import Pairing
import Posix
import Time

/// The links of this device: one for each pair, and those on which others pair. Sans-IO: the process has the sockets, each with the number
/// of its link.
///
/// The side that took the code dials at once when it sees the other one; the side that showed it a little later. If both dial, both keep
/// the same one of the two links (`isKept`).
struct Links {
    /// Why this side dials.
    enum Goal: Hashable {
        case pair(PairID)
        /// - client: the command that has the code.
        case pairing(client: Int)
    }

    enum Output: Equatable {
        case dial(Int, Endpoint)
        case send(Int, [UInt8])
        /// Close the connection once all is sent.
        case close(Int)
        case wantsToPair(Int, PairingFrame.Hello)
        /// - client: the command that has the code; nil if this side shows it.
        case pairing(Int, client: Int?, PairingSession.Output)
        /// No place of the device took the code; the last one for this reason, if one was reached at all.
        case notPaired(client: Int, PairingFailure?)
        /// - endpoint: where this side has reached the other one; nil if it was the other way round.
        case linked(PairID, at: Endpoint?)
        case frame(PairID, LinkFrame)
        case unlinked(PairID, LinkClosing)
        /// Another state of the link.
        case changed(PairID)
    }

    /// Of links that have proved nothing, of all and of one network.
    static let most = 64
    static let mostOfHost = 8
    /// How long a connection and its TLS may take.
    static let openingTime = Duration.seconds(10)
    /// Until the side that showed the code dials, too.
    private static let secondDelay = Duration.seconds(2)
    /// Two links within this time were dialled by both sides at once.
    private static let crossingTime = Duration.seconds(5)
    private static let crossingTimeAnew = Duration.milliseconds(500)
    private static let delays = Duration.seconds(1)...Duration.seconds(60)

    private struct Connection {
        /// Nil if the other side has dialled.
        let goal: Goal?
        let endpoint: Endpoint
        let wish: LinkSession.Wish?
        /// Nil until TLS is there.
        var session: LinkSession?
        let openUntil: Instant
        /// Of a pair that has proved itself.
        var pair: PairID?
        var linkedAt = Instant.start
        /// Whether its client has given up another link.
        var isAnew = false
    }

    /// What is done about one pair.
    private struct Course {
        let secret: [UInt8]
        let tookCode: Bool
        /// Where it is announced now, the best one first.
        var places: [Endpoint] = []
        /// Where it was reached before.
        var formerPlaces: [Endpoint] = []
        var link: Int?
        var dial: Dial?
        var dialAt: Instant?
        var backoff = Backoff(Links.delays)
        var isAway = false
    }

    private let certificate: [UInt8]
    var resolvingKey: [UInt8]
    /// As this device calls itself to those it pairs with.
    private let name: String
    /// As it calls itself to all who dial; empty if only pairs may know it.
    var shownName = ""
    private var numbers = 0
    private var connections: [Int: Connection] = [:]
    private var courses: [PairID: Course] = [:]
    /// Of commands whose code was not used yet.
    private var pairings: [Int: (dial: Dial, wish: LinkSession.Wish, failure: PairingFailure?)] = [:]
    private var isWatched = false
    private var outputs: [Output] = []

    /// - Parameter certificate: the SHA-256 of this device's certificate (DER).
    init(certificate: [UInt8], resolvingKey: [UInt8], name: String) {
        (self.certificate, self.resolvingKey, self.name) = (certificate, resolvingKey, name)
    }

    mutating func nextOutput() -> Output? { outputs.isEmpty ? nil : outputs.removeFirst() }

    var deadline: Instant? {
        var next: Instant?
        for connection in connections.values {
            next = earliest(next, connection.session.map(\.deadline) ?? connection.openUntil)
        }
        for course in courses.values { next = earliest(next, course.dialAt, course.dial?.nextAt) }
        for pairing in pairings.values { next = earliest(next, pairing.dial.nextAt) }
        return next
    }

    mutating func poll(at now: Instant) {
        for (number, connection) in connections {
            if connection.session == nil {
                guard now >= connection.openUntil else { continue }
                outputs.append(.close(number))
                ended(number, at: now)
            } else {
                change(number, at: now) { $0.poll(at: now) }
            }
        }
        for (pair, course) in courses {
            if let due = course.dialAt, now >= due { connect(pair, at: now) }
            advance(.pair(pair), at: now)
        }
        for client in pairings.keys { advance(.pairing(client: client), at: now) }
    }

    // MARK: - Pairs

    /// The pairs that there are now. Links of others are closed.
    mutating func set(_ pairs: [Pair], at now: Instant) {
        let present = Set(pairs.map(\.id))
        for id in courses.keys where !present.contains(id) { forget(id, at: now) }
        for pair in pairs {
            var course = courses[pair.id] ?? Course(secret: pair.secret, tookCode: pair.hasBegun)
            course.formerPlaces = pair.addresses.compactMap { Endpoint($0) }
            courses[pair.id] = course
        }
    }

    /// Where a pair is announced.
    mutating func setPlaces(_ places: [Endpoint], of pair: PairID, at now: Instant) {
        guard var course = courses[pair], course.places != places else { return }
        let isNew = !places.allSatisfy(course.places.contains)
        course.places = places
        course.dial?.add(places, at: now)
        if places.isEmpty {
            course.dialAt = nil
        } else if isNew, course.link == nil || course.isAway {
            course.backoff.succeed()
            course.dialAt = now + (course.tookCode ? .zero : Self.secondDelay)
        }
        courses[pair] = course
    }

    /// Dials a pair now, wherever it may be, unless it is linked.
    mutating func connect(_ pair: PairID, at now: Instant) {
        guard var course = courses[pair] else { return }
        course.dialAt = nil
        if course.dial == nil, course.link == nil || course.isAway {
            course.dial = Dial(course.places + course.formerPlaces, at: now)
        }
        courses[pair] = course
        advance(.pair(pair), at: now)
        outputs.append(.changed(pair))
    }

    func state(of pair: PairID) -> LinkState {
        guard let course = courses[pair] else { return .notConnected }
        if let link = course.link, let connection = connections[link] {
            return .connected(connection.endpoint, isAway: course.isAway)
        }
        return course.dial == nil ? .notConnected : .connecting
    }

    /// Sends a frame to a pair.
    ///
    /// - Returns: false if there is no link.
    @discardableResult
    mutating func send(_ frame: LinkFrame, to pair: PairID) -> Bool {
        guard let link = courses[pair]?.link else { return false }
        outputs.append(.send(link, frame.bytes))
        return true
    }

    /// Ends the link of a pair.
    mutating func unlink(_ pair: PairID, _ reason: LinkClosing, at now: Instant) {
        guard let link = courses[pair]?.link else { return }
        change(link, at: now) { $0.close(reason) }
    }

    private mutating func forget(_ pair: PairID, at now: Instant) {
        unlink(pair, .unpaired, at: now)
        if let dial = courses.removeValue(forKey: pair)?.dial { drop(dial, at: now) }
    }

    /// A person looks, and wants to know soon who has gone.
    mutating func watch(_ isWatched: Bool, at now: Instant) {
        self.isWatched = isWatched
        for number in connections.keys { change(number, at: now) { $0.watch(isWatched, at: now) } }
    }

    /// This machine has other addresses: the links that there are may lead nowhere. New ones replace them.
    mutating func networkChanged(at now: Instant) {
        for pair in courses.keys {
            courses[pair]!.backoff.succeed()
            if let dial = courses[pair]!.dial.take() { drop(dial, at: now) }
            let places = courses[pair]!.places + courses[pair]!.formerPlaces
            courses[pair]!.dial = places.isEmpty ? nil : Dial(places, at: now)
            advance(.pair(pair), at: now)
        }
    }

    /// Ends all links, as the machine goes to sleep or the process ends.
    mutating func closeAll(at now: Instant) {
        for pair in courses.keys { (courses[pair]!.dial, courses[pair]!.dialAt) = (nil, nil) }
        pairings = [:]
        for (number, connection) in connections {
            if connection.session == nil { outputs.append(.close(number)) }
            change(number, at: now) { $0.close() }
        }
        connections = connections.filter { $0.value.session != nil }
    }

    // MARK: - Pairing

    /// Takes a code to a device.
    ///
    /// - Parameter client: the command; its former pairing ends.
    mutating func pair(
        _ client: Int,
        _ code: PairingCode,
        token: [UInt8],
        places: [Endpoint],
        at now: Instant
    ) {
        stopPairing(client, at: now)
        pairings[client] = (Dial(places, at: now), .pair(code, token: token), nil)
        advance(.pairing(client: client), at: now)
    }

    /// The command is gone.
    mutating func stopPairing(_ client: Int, at now: Instant) {
        guard let pairing = pairings.removeValue(forKey: client) else { return }
        drop(pairing.dial, at: now)
    }

    mutating func pair(_ number: Int, _ code: PairingCode, at now: Instant) {
        change(number, at: now) { $0.pair(code, at: now) }
    }

    mutating func refuse(_ number: Int, _ failure: PairingFailure, at now: Instant) {
        change(number, at: now) { $0.refuse(failure) }
    }

    mutating func confirm(_ number: Int, at now: Instant) { change(number, at: now) { $0.confirm() } }

    mutating func failPairing(_ number: Int, _ failure: PairingFailure, at now: Instant) {
        change(number, at: now) { $0.failPairing(failure) }
    }

    mutating func noteStored(_ number: Int, _ isDone: Bool, at now: Instant) {
        change(number, at: now) { $0.noteStored(isDone) }
    }

    // MARK: - Connections

    /// Somebody has connected.
    ///
    /// - Returns: the number of the link; nil if there are enough.
    mutating func accept(from endpoint: Endpoint, at now: Instant) -> Int? {
        let network = ClientAddress(endpoint.host).network
        let others = connections.values.filter { $0.pair == nil && $0.goal == nil }
        let ofNetwork = others.count { ClientAddress($0.endpoint.host).network == network }
        guard others.count < Self.most, ofNetwork < Self.mostOfHost else { return nil }
        return open(nil, endpoint, nil, at: now)
    }

    private mutating func open(_ goal: Goal?, _ endpoint: Endpoint, _ wish: LinkSession.Wish?, at now: Instant) -> Int {
        numbers += 1
        connections[numbers] = Connection(
            goal: goal,
            endpoint: endpoint,
            wish: wish,
            openUntil: now + Self.openingTime
        )
        return numbers
    }

    /// TLS is there.
    ///
    /// - Parameter seen: the SHA-256 of the server's certificate (DER), as this side sees it.
    mutating func opened(_ number: Int, certificate seen: [UInt8], at now: Instant) {
        guard let connection = connections[number], connection.session == nil else { return }
        let role: LinkSession.Role =
            connection.wish.map { .client($0) } ?? .server(secrets: courses.values.map(\.secret))
        // This device itself, or somebody who hands its own words back to it.
        if connection.wish != nil, seen == certificate {
            outputs.append(.close(number))
            return ended(number, at: now)
        }
        let name = connection.wish == nil ? shownName : name
        var session = LinkSession(role, resolvingKey: resolvingKey, name: name, certificate: seen, at: now)
        session.watch(isWatched, at: now)
        connections[number]!.session = session
        change(number, at: now) { _ in }
    }

    /// Of the next message on a link, in bytes.
    func longestMessage(on number: Int) -> Int { connections[number]?.session?.longestMessage ?? 0 }

    mutating func receive(_ message: [UInt8], on number: Int, at now: Instant) {
        change(number, at: now) { $0.receive(message, at: now) }
    }

    /// The connection is gone, or never was there.
    mutating func ended(_ number: Int, at now: Instant) {
        change(number, at: now) { $0.connectionLost() }
        remove(number, .goingAway, at: now)
    }

    /// Changes the session of a link, and passes on what comes of it.
    private mutating func change(_ number: Int, at now: Instant, _ body: (inout LinkSession) -> Void) {
        // Taken out, so that it is not copied.
        guard var session = connections[number]?.session.take() else { return }
        body(&session)
        var closing: LinkClosing?
        var linked: PairID?
        var news: [Output] = []
        while let output = session.nextOutput() {
            switch output {
            case .send(let bytes): news.append(.send(number, bytes))
            case .wantsToPair(let hello): news.append(.wantsToPair(number, hello))
            case .pairing(let output): if let output = note(output, number, at: now) { news.append(output) }
            case .linked(let pair, let isAnew):
                linked = pair
                connections[number]?.isAnew = isAnew
            case .frame(let frame): if let pair = connections[number]?.pair { news.append(.frame(pair, frame)) }
            case .away(let isAway): note(isAway, number, at: now)
            case .close(let reason): closing = reason
            }
        }
        connections[number]?.session = session
        outputs += news
        if let linked { link(number, linked, at: now) }
        guard let closing else { return }
        outputs.append(.close(number))
        remove(number, closing, at: now)
    }

    /// - Returns: what is told of it; nil for an attempt in vain, while there are other places.
    private mutating func note(_ output: PairingSession.Output, _ number: Int, at now: Instant) -> Output? {
        guard case .pairing(let client)? = connections[number]?.goal else {
            return .pairing(number, client: nil, output)
        }
        switch output {
        case .usesCode:
            if let pairing = pairings.removeValue(forKey: client) { drop(pairing.dial, but: number, at: now) }
        case .failed(let failure) where pairings[client] != nil:
            pairings[client]!.failure = failure
            return nil
        default: break
        }
        return .pairing(number, client: client, output)
    }

    private mutating func link(_ number: Int, _ pair: PairID, at now: Instant) {
        // A pair that was just made is not known here yet: its link is made anew.
        guard let course = courses[pair] else { return change(number, at: now) { $0.close() } }
        (connections[number]!.pair, connections[number]!.linkedAt) = (pair, now)
        if let former = course.link, let connection = connections[former] {
            guard !isKept(connection, number, course, at: now) else {
                return change(number, at: now) { $0.close(.replaced) }
            }
            // Its end is not the end of the link.
            courses[pair]!.link = number
            change(former, at: now) { $0.close(.replaced) }
        }
        (courses[pair]!.link, courses[pair]!.isAway, courses[pair]!.dialAt) = (number, false, nil)
        courses[pair]!.backoff.succeed()
        let connection = connections[number]!
        // If both sides dial, the link of the one that took the code stays.
        if connection.goal != nil || !course.tookCode, let dial = courses[pair]!.dial.take() {
            drop(dial, but: number, at: now)
        }
        outputs += [.linked(pair, at: connection.goal == nil ? nil : connection.endpoint), .changed(pair)]
    }

    /// Whether the link that there is stays, when another one of the same pair has come. The newest one is the one that works, unless both
    /// sides have dialled at once, neither knowing of the other's: both keep the link of the side that took the code, then.
    private func isKept(_ former: Connection, _ number: Int, _ course: Course, at now: Instant) -> Bool {
        let new = connections[number]!
        let isOwn = former.goal != nil
        // Of two that were made anew, the second one may be made because of another change.
        let time = former.isAnew ? Self.crossingTimeAnew : Self.crossingTime
        guard isOwn != (new.goal != nil), former.isAnew || !new.isAnew, now - former.linkedAt < time else {
            return false
        }
        return isOwn == course.tookCode
    }

    private mutating func note(_ isAway: Bool, _ number: Int, at now: Instant) {
        guard let pair = connections[number]?.pair, courses[pair]?.link == number else { return }
        courses[pair]!.isAway = isAway
        // The device may be elsewhere by now.
        if isAway { courses[pair]!.dialAt = now }
        outputs.append(.changed(pair))
    }

    private mutating func remove(_ number: Int, _ reason: LinkClosing, at now: Instant) {
        guard let connection = connections.removeValue(forKey: number) else { return }
        if let goal = connection.goal { attemptEnded(number, goal, at: now) }
        guard let pair = connection.pair, courses[pair]?.link == number else { return }
        courses[pair]!.link = nil
        courses[pair]!.isAway = false
        if courses[pair]!.dial == nil, !courses[pair]!.places.isEmpty {
            let wait = courses[pair]!.backoff.fail()
            courses[pair]!.dialAt = now + (courses[pair]!.tookCode ? wait : wait + Self.secondDelay)
        }
        outputs += [.unlinked(pair, reason), .changed(pair)]
    }

    // MARK: - Dialling

    private mutating func advance(_ goal: Goal, at now: Instant) {
        while let endpoint = withDial(of: goal, { $0.next(at: now) }) ?? nil {
            let wish: LinkSession.Wish =
                switch goal {
                case .pair(let pair): .link(secret: courses[pair]!.secret, isAnew: courses[pair]!.link != nil)
                case .pairing(let client): pairings[client]!.wish
                }
            let number = open(goal, endpoint, wish, at: now)
            withDial(of: goal) { $0.noteStart(of: number) }
            outputs.append(.dial(number, endpoint))
        }
        finish(goal, at: now)
    }

    private mutating func attemptEnded(_ number: Int, _ goal: Goal, at now: Instant) {
        withDial(of: goal) { $0.noteEnd(of: number, at: now) }
        finish(goal, at: now)
    }

    /// Ends a dial that has failed.
    private mutating func finish(_ goal: Goal, at now: Instant) {
        guard withDial(of: goal, { $0.hasFailed }) == true else { return }
        switch goal {
        case .pairing(let client):
            outputs.append(.notPaired(client: client, pairings.removeValue(forKey: client)?.failure))
        case .pair(let pair):
            courses[pair]!.dial = nil
            if !courses[pair]!.places.isEmpty { courses[pair]!.dialAt = now + courses[pair]!.backoff.fail() }
            outputs.append(.changed(pair))
        }
    }

    @discardableResult
    private mutating func withDial<Result>(of goal: Goal, _ body: (inout Dial) -> Result) -> Result? {
        switch goal {
        case .pair(let pair): courses[pair]?.dial == nil ? nil : body(&courses[pair]!.dial!)
        case .pairing(let client): pairings[client] == nil ? nil : body(&pairings[client]!.dial)
        }
    }

    /// Gives up the links that a dial is making.
    private mutating func drop(_ dial: Dial, but kept: Int? = nil, at now: Instant) {
        for number in dial.running where number != kept {
            guard let connection = connections[number] else { continue }
            if connection.session == nil { outputs.append(.close(number)) }
            change(number, at: now) { $0.close() }
            connections[number] = nil
        }
    }
}
