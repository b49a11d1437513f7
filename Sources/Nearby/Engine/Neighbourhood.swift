package import Discovery
import Link
package import Pairing
import Sodium
package import Time

/// What the nearby process decides: how this device is announced, who is linked, who may pair, and what commands are answered. Sans-IO, but
/// for the file of pairs, which is small and of this machine.
package struct Neighbourhood {
    package enum Output {
        /// - name: empty for a device that only its pairs may know. Nil for no announcement: nobody is let in either.
        case advertise(Announcement?, name: String)
        /// Ask a host for its announcement.
        case query(host: String)
        /// Connect, and tell `opened` or `ended`.
        case dial(Int, Endpoint)
        case send(Int, [UInt8])
        /// Close the connection once all is sent.
        case close(Int)
        case reply(client: Int, NearbyReply)
        /// Close the connection of a command once all is sent.
        case hangUp(client: Int)
        /// Work on a file; the result goes to `note`.
        case file(FileJob)
        /// For the person, on standard error.
        case note(String)
        /// A command wants this process to end.
        case leave
    }

    /// Who may find this device.
    package enum Visibility: String, Codable, CaseIterable, Sendable {
        /// Everybody on the network, by its name.
        case named
        /// Its pairs alone recognise it.
        case paired
        /// Nobody, but while it shows a code.
        case off
    }

    /// Until a pair that is there was found and dialled.
    static let searchTime = Duration.seconds(3)
    /// Between two searches for a pair whose file was cut off.
    static let retryTime = Duration.seconds(10)
    /// Of a resolvable identity.
    static let hour = Duration.seconds(3600)

    let store: PairStore
    private let visibility: Visibility
    /// Whether it belongs to a share, and its person reads on standard error.
    let isLasting: Bool
    /// Whether there is a folder for files that come.
    let takesFiles: Bool
    /// The time now, in RFC 3339.
    let clock: () -> String
    var name: String
    private let instance: [UInt8]
    private let codecs: [String]
    private let state: Announcement.State
    private var resolvingKey: [UInt8]
    private var resolvable: ResolvableID
    private var renewAt: Instant
    private var advertised: Announcement?
    private var advertisedName = ""
    /// Where this device takes links.
    var ownPlaces: [Endpoint] = []

    var pairs: [Pair]
    var list = DeviceList()
    var links: Links
    var door = PairingDoor()
    /// The command that shows a code.
    var shower: Int?
    /// It is told once it is known where this device takes links.
    var untoldCode: PairingCode?
    /// Runs that were let in, by link.
    var attempts: [Int: PairingDoor.Attempt] = [:]
    /// Pairs that were stored by a run that goes on, by link.
    var stored: [Int: Pair] = [:]
    /// Commands that list the devices, and what they make of this one.
    var watchers: [Int: Visibility] = [:]
    /// Commands that wait for a device.
    var finders: [Int: Finder] = [:]
    /// Lines that were sent, until the other side has them.
    var messages: [UInt32: (client: Int, pair: PairID, json: String)] = [:]
    /// Another start begins elsewhere, so that its lines are not taken for those of this one.
    var nextMessage = UInt32.random(in: 0...UInt32.max)
    /// The numbers of the last lines of each pair, and how many may come.
    var received: [PairID: [UInt32]] = [:]
    var lineLimits: [PairID: RateLimit] = [:]
    /// How often pairs make this device write their file.
    var storeLimits: [PairID: RateLimit] = [:]
    var errands: [PairID: [Errand]] = [:]
    /// Until when pairs are looked for that commands want something from.
    var searches: [PairID: Instant] = [:]
    /// By their numbers for the worker.
    var sendings: [Int: Sending] = [:]
    var receivings: [Int: Receiving] = [:]
    var arrived: [Arrived] = []
    var lastTransfer = 0
    var lastFile: UInt32 = 0
    var outputs: [Output] = []
    /// Of the outputs.
    private var taken = 0
    /// Since when devices are there, for people.
    var sinces: [DeviceList.Identity: String] = [:]
    var problems: [Driver: String] = [:]

    /// - Parameters:
    ///   - certificate: the SHA-256 of this device's certificate (DER).
    ///   - isLasting: whether it belongs to a share.
    ///   - takesFiles: whether there is a folder for files that come.
    ///   - clock: the time now, in RFC 3339.
    /// - Throws: `PairStoreError`.
    package init(
        _ visibility: Visibility,
        name: String,
        isLasting: Bool,
        takesFiles: Bool = false,
        codecs: [String] = [],
        store: PairStore,
        certificate: [UInt8],
        clock: @escaping () -> String,
        at now: Instant
    ) throws(PairStoreError) {
        (self.visibility, self.name, self.isLasting, self.codecs) = (visibility, name, isLasting, codecs)
        state = isLasting ? .live : .idle
        (self.store, self.clock, self.takesFiles) = (store, clock, takesFiles)
        pairs = try store.pairs()
        resolvingKey = try store.resolvingKey()
        instance = Randomness.bytes(Announcement.instanceLength)
        resolvable = ResolvableID(key: resolvingKey, instance: instance)
        renewAt = now + Self.hour
        links = Links(certificate: certificate, resolvingKey: resolvingKey, name: name)
        adopt(pairs, at: now)
        announce()
        for pair in pairs where !pair.addresses.isEmpty { links.connect(pair.id, at: now) }
        settle(at: now)
    }

    /// Of this start, in its announcements.
    package var ownInstance: [UInt8] { instance }

    package mutating func nextOutput() -> Output? {
        guard taken < outputs.count else {
            outputs.removeAll(keepingCapacity: outputs.capacity < 1024)
            taken = 0
            return nil
        }
        defer { taken += 1 }
        return outputs[taken]
    }

    package var deadline: Instant? {
        let ofLinks = earliest(links.deadline, searches.values.min())
        return earliest(ofLinks, door.deadline, renewAt, finders.values.map(\.askAt).min())
    }

    package mutating func poll(at now: Instant) {
        links.poll(at: now)
        if let end = door.deadline, now >= end { codeExpired(at: now) }
        if now >= renewAt {
            renewAt = now + Self.hour
            resolvable = ResolvableID(key: resolvingKey, instance: instance)
            announce()
        }
        for client in finders.keys { ask(for: client, at: now) }
        for id in searches.keys { giveUpSearch(for: id, at: now) }
        settle(at: now)
    }

    // MARK: - This device

    /// Tells the others what this device is now.
    mutating func announce() {
        let wishes = [visibility] + watchers.values
        let isFound = wishes.contains { $0 != .off } || door.token != nil
        let announcement =
            isFound
            ? Announcement(
                instance: instance,
                state: state,
                token: door.token,
                resolvable: resolvable,
                codecs: codecs
            ) : nil
        // Whoever shows a code wants to be found.
        let shownName = wishes.contains(.named) || door.token != nil ? name : ""
        guard announcement != advertised || shownName != advertisedName else { return }
        (advertised, advertisedName) = (announcement, shownName)
        links.shownName = shownName
        outputs.append(.advertise(announcement, name: shownName))
    }

    /// Where this device takes links now.
    package mutating func note(ownPlaces: [Endpoint], at now: Instant) {
        self.ownPlaces = ownPlaces
        if let code = untoldCode.take() { tell(code, at: now) }
    }

    /// Where this device takes links; 0 if it takes none.
    private var ownPort: UInt16 { advertised == nil ? 0 : ownPlaces.first?.port ?? 0 }

    /// Devices that were paired do not recognise this one any more; the pairs are told how they will.
    mutating func renewResolvingKey() {
        // Without it, a device that was paired recognises this one for some time yet.
        if let key = try? store.renewResolvingKey() { adopt(resolvingKey: key) }
    }

    private mutating func adopt(resolvingKey key: [UInt8]) {
        guard key != resolvingKey else { return }
        (resolvingKey, links.resolvingKey) = (key, key)
        resolvable = ResolvableID(key: key, instance: instance)
        announce()
        for pair in pairs where pair.state == .paired { links.send(.key(key, port: ownPort), to: pair.id) }
    }

    // MARK: - Pairs

    /// Takes over the pairs of the file.
    mutating func reload(at now: Instant) {
        do throws(PairStoreError) {
            adopt(try store.pairs(), at: now)
            adopt(resolvingKey: try store.resolvingKey())
        } catch {
            note("\(error)")
        }
    }

    private mutating func adopt(_ pairs: [Pair], at now: Instant) {
        self.pairs = pairs
        links.set(pairs, at: now)
        for id in Set(sendings.values.map(\.pair) + messages.values.map(\.pair)) {
            if !pairs.contains(where: { $0.id == id && $0.state == .paired }) { dropAll(of: id) }
        }
        // Also those that have to be told that they are none any more.
        list.set(pairs.map { DeviceList.Known(id: $0.id, resolvingKey: $0.resolvingKey, name: $0.name) })
    }

    /// Changes a pair in the file; a nil result removes it.
    mutating func change(_ id: PairID, at now: Instant, _ body: (Pair) -> Pair?) {
        do throws(PairStoreError) {
            try store.change(id, body)
            adopt(try store.pairs(), at: now)
        } catch {
            note("\(error)")
        }
    }

    /// Whether what a pair has said is worth writing its file: some times at once, and once a minute.
    mutating func mayStore(for id: PairID, at now: Instant) -> Bool {
        var limit = storeLimits[id] ?? RateLimit(interval: .seconds(60), slack: .seconds(600), from: now)
        defer { storeLimits[id] = limit }
        guard now >= limit.earliest else { return false }
        limit.note(at: now)
        return true
    }

    func pair(_ id: PairID) -> Pair? { pairs.first { $0.id == id } }

    // MARK: - What is heard of others

    package mutating func note(_ news: SightingNews, by driver: Driver, at now: Instant) {
        list.note(news, by: driver, at: now)
        settle(at: now)
    }

    /// What a driver cannot do; nil once it can.
    package mutating func note(problem: String?, of driver: Driver) {
        guard problems[driver] != problem else { return }
        problems[driver] = problem
        let reply = NearbyReply.problem(driver: driver.rawValue, sentence: problem)
        for client in watchers.keys { outputs.append(.reply(client: client, reply)) }
    }

    /// The machine was asleep: the clock did not count that time, so a code may be old.
    package mutating func wokeUp(at now: Instant) {
        endShowing { _ in .failed(.unavailable, sentence: "this machine was asleep: show another code") }
        settle(at: now)
    }

    package mutating func networkChanged(at now: Instant) {
        links.networkChanged(at: now)
        settle(at: now)
    }

    /// The machine goes to sleep, or the process ends.
    package mutating func closeAll(at now: Instant) {
        door.close()
        links.closeAll(at: now)
        settle(at: now)
    }

    // MARK: - Connections

    /// Somebody has connected.
    ///
    /// - Returns: the number of the link; nil to close it.
    package mutating func accept(from endpoint: Endpoint, at now: Instant) -> Int? {
        advertised == nil ? nil : links.accept(from: endpoint, at: now)
    }

    /// TLS is there.
    ///
    /// - Parameter seen: the SHA-256 of the server's certificate (DER), as this side sees it.
    package mutating func opened(_ number: Int, certificate seen: [UInt8], at now: Instant) {
        links.opened(number, certificate: seen, at: now)
        settle(at: now)
    }

    /// Of the next message on a link, in bytes.
    package func longestMessage(on number: Int) -> Int { links.longestMessage(on: number) }

    package mutating func receive(_ message: [UInt8], on number: Int, at now: Instant) {
        links.receive(message, on: number, at: now)
        settle(at: now)
    }

    package mutating func ended(_ number: Int, at now: Instant) {
        links.ended(number, at: now)
        settle(at: now)
    }

    /// Does what the parts have put out.
    mutating func settle(at now: Instant) {
        var isSettled = false
        while !isSettled {
            isSettled = true
            while let news = list.nextNews() {
                isSettled = false
                handle(news, at: now)
            }
            while let output = links.nextOutput() {
                isSettled = false
                handle(output, at: now)
            }
        }
    }

    private mutating func handle(_ news: DeviceList.News, at now: Instant) {
        switch news {
        case .found(let device), .changed(let device):
            if sinces[device.identity] == nil { sinces[device.identity] = clock() }
            if case .pair(let id) = device.identity {
                links.setPlaces(device.endpoints.map(\.endpoint), of: id, at: now)
                if searches[id] != nil { links.connect(id, at: now) }
            }
            tellWatchers(of: device.identity)
            if device.token != nil { for client in finders.keys { hasten(client, at: now) } }
        case .lost(let identity):
            sinces[identity] = nil
            if case .pair(let id) = identity { links.setPlaces([], of: id, at: now) }
            tellWatchers(of: identity)
        }
    }

    private mutating func handle(_ output: Links.Output, at now: Instant) {
        switch output {
        case .dial(let number, let endpoint): outputs.append(.dial(number, endpoint))
        case .send(let number, let bytes): outputs.append(.send(number, bytes))
        case .close(let number):
            attempts[number] = nil
            stored[number] = nil
            outputs.append(.close(number))
        case .wantsToPair(let number, let hello): admit(number, hello, at: now)
        case .pairing(let number, let client, let output): handle(output, on: number, of: client, at: now)
        case .notPaired(let client, let failure):
            if let failure {
                fail(client, .refused, Self.sentence(failure))
            } else {
                fail(client, .unavailable, "the device cannot be reached: see whether its firewall lets Oriel in")
            }
        case .linked(let id, let endpoint): linked(id, endpoint, at: now)
        case .frame(let id, let frame): handle(frame, of: id, at: now)
        case .unlinked(let id, let reason): unlinked(id, reason, at: now)
        case .changed(let id):
            tellWatchers(of: .pair(id))
            giveUpSearch(for: id, at: now)
        }
    }

    private mutating func linked(_ id: PairID, _ endpoint: Endpoint?, at now: Instant) {
        guard let pair = pair(id) else { return }
        if pair.state == .unpaired { return runErrands(for: id) }
        if pair.state != .paired || mayStore(for: id, at: now) {
            let time = clock()
            change(id, at: now) { pair in
                var pair = pair
                pair.state = .paired
                if let endpoint { pair.note(address: "\(endpoint)", at: time) } else { pair.seen = time }
                return pair
            }
        }
        links.send(.key(resolvingKey, port: ownPort), to: id)
        searches[id] = nil
        runErrands(for: id)
        cutTransfers(of: id, at: now)
        beginSendings(to: id, at: now)
    }

    private mutating func unlinked(_ id: PairID, _ reason: LinkClosing, at now: Instant) {
        cutTransfers(of: id, at: now)
        // What was not acknowledged goes by the next link.
        if messages.values.contains(where: { $0.pair == id }) { search(for: id, at: now) }
        guard reason == .unpaired, pair(id)?.state == .unpaired else { return }
        // The other side knows now.
        dropErrands(for: id)
        change(id, at: now) { _ in nil }
    }
}
