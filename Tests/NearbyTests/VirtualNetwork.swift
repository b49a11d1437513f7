import Discovery
import Link
import Pairing
import Posix
import Sodium
import TestSupport
import Time

@testable import Nearby

/// Devices in one network, in virtual time.
final class VirtualNetwork {
    final class Device {
        let host: String
        let name: String
        fileprivate let home: TemporaryDirectory
        let store: PairStore
        fileprivate(set) var certificate: [UInt8] = []
        /// Nil while its process does not run.
        fileprivate(set) var neighbourhood: Neighbourhood?
        fileprivate(set) var announced: (announcement: Announcement, name: String)?
        /// By command.
        fileprivate(set) var replies: [Int: [NearbyReply]] = [:]
        fileprivate(set) var hungUp: Set<Int> = []
        fileprivate(set) var notes: [String] = []
        /// All messages that it has sent.
        fileprivate(set) var sent: [[UInt8]] = []

        /// For files that come.
        let inbox: TemporaryDirectory
        fileprivate var files: TransferFiles

        fileprivate init(host: String, name: String) throws {
            (self.host, self.name) = (host, name)
            home = try TemporaryDirectory()
            inbox = try TemporaryDirectory()
            files = TransferFiles(inbox: inbox.path)
            let path = home.path
            store = try PairStore { $0 == "XDG_STATE_HOME" ? path : nil }
        }

        func pairs() throws -> [Pair] { try store.pairs() }
    }

    private struct End: Hashable {
        let device: Int
        let number: Int
    }

    private enum Event {
        case arrive(from: Int, number: Int, Endpoint)
        case message(to: End, [UInt8])
        case end(of: End)
        case seen(by: Int, Sighting)
        case lost(by: Int, [UInt8], host: String)
        case file(of: Int, FileResult)
    }

    static let latency = Duration.milliseconds(2)

    private(set) var now = Instant.seconds(1000)
    private(set) var devices: [Device] = []
    private var events: [(at: Instant, order: Int, event: Event)] = []
    private var order = 0
    /// The other end of each connection.
    private var wires: [End: End] = [:]
    /// Devices whose cable is out.
    private var unplugged: Set<Int> = []
    /// Connections that were closed before they were there.
    private var given: Set<End> = []
    private var lastCommand = 0
    /// Whether no announcement is heard, as between networks.
    var isSilent = false

    init(_ names: [String]) throws {
        for (number, name) in names.enumerated() {
            devices.append(try Device(host: "192.0.2.\(number + 1)", name: name))
        }
    }

    // MARK: - Devices

    func start(_ index: Int, _ visibility: Neighbourhood.Visibility = .named) throws {
        let device = devices[index]
        // Its numbers begin anew.
        given = given.filter { $0.device != index }
        wires = wires.filter { $0.key.device != index }
        device.files = TransferFiles(inbox: device.inbox.path)
        device.certificate = Randomness.bytes(32)
        device.neighbourhood = try Neighbourhood(
            visibility,
            name: device.name,
            isLasting: true,
            takesFiles: true,
            store: device.store,
            certificate: device.certificate,
            clock: { "2026-11-30T12:00:00Z" },
            at: now
        )
        settle()
        for (other, sender) in devices.enumerated() where other != index { tell(index, of: sender) }
    }

    /// The process dies at once; its machine tells the others that its connections are gone.
    func kill(_ index: Int) {
        let device = devices[index]
        guard let instance = device.neighbourhood?.ownInstance else { return }
        device.neighbourhood = nil
        device.announced = nil
        for (end, other) in wires where end.device == index { cut(end, other) }
        for other in devices.indices where other != index {
            add(.seconds(65), .lost(by: other, instance, host: device.host))
        }
    }

    func plug(_ index: Int, _ isIn: Bool) {
        if isIn { unplugged.remove(index) } else { unplugged.insert(index) }
        devices[index].neighbourhood?.networkChanged(at: now)
        settle()
        guard isIn else { return }
        for other in devices.indices where other != index {
            tell(index, of: devices[other])
            tell(other, of: devices[index])
        }
    }

    /// A device has another address: its connections lead nowhere, and nobody is told.
    func move(_ index: Int) {
        for (end, other) in wires where end.device == index { (wires[end], wires[other]) = (nil, nil) }
        devices[index].neighbourhood?.networkChanged(at: now)
        settle()
    }

    func wakeUp(_ index: Int) {
        devices[index].neighbourhood?.wokeUp(at: now)
        settle()
    }

    /// Cuts all connections of two devices.
    func cut(_ one: Int, _ other: Int) {
        for (end, peer) in wires where end.device == one && peer.device == other { cut(end, peer) }
    }

    private func cut(_ end: End, _ other: End) {
        for side in [end, other] {
            wires[side] = nil
            add(Self.latency, .end(of: side))
        }
    }

    func sendFrame(_ frame: LinkFrame, from index: Int, to pair: PairID) {
        devices[index].neighbourhood?.links.send(frame, to: pair)
        devices[index].neighbourhood?.settle(at: now)
        settle()
    }

    /// What a device says first to a stranger; nil if it takes no links.
    func hello(of index: Int) throws -> PairingFrame.Hello? {
        let device = devices[index]
        let stranger = Endpoint(host: "192.0.2.99", port: 1)
        guard let number = device.neighbourhood?.accept(from: stranger, at: now) else { return nil }
        device.sent = []
        device.neighbourhood?.opened(number, certificate: device.certificate, at: now)
        settle()
        guard let first = device.sent.first, case .hello(let hello)? = PairingFrame(first) else { return nil }
        return hello
    }

    func dial(_ index: Int, _ pair: PairID) {
        devices[index].neighbourhood?.links.connect(pair, at: now)
        devices[index].neighbourhood?.settle(at: now)
        settle()
    }

    /// How many connections two devices have.
    func connections(_ one: Int, _ other: Int) -> Int {
        wires.count { $0.key.device == one && $0.value.device == other }
    }

    func state(_ index: Int, of pair: PairID) -> LinkState {
        devices[index].neighbourhood?.links.state(of: pair) ?? .notConnected
    }

    func isLinked(_ index: Int, to pair: PairID) -> Bool {
        if case .connected(_, isAway: false) = state(index, of: pair) { true } else { false }
    }

    // MARK: - Commands

    @discardableResult
    func request(
        _ request: NearbyRequest,
        with file: GivenFile? = nil,
        at index: Int,
        of client: Int? = nil
    ) -> Int {
        if client == nil { lastCommand += 1 }
        let client = client ?? lastCommand
        devices[index].neighbourhood?.request(request, with: file, of: client, at: now)
        settle()
        return client
    }

    func leave(_ client: Int, at index: Int) {
        devices[index].neighbourhood?.clientGone(client, at: now)
        settle()
    }

    func replies(_ client: Int, at index: Int) -> [NearbyReply] { devices[index].replies[client] ?? [] }

    /// Pairs two devices by a code. Returns their pair.
    func pair(_ shower: Int, _ taker: Int) -> PairID? {
        let shown = request(.showCode(isPhotographed: false), at: shower)
        run(for: .milliseconds(20))
        guard case .code(let code, _, _)? = replies(shown, at: shower).last else { return nil }
        let name = devices[shower].name
        let taken = request(.find(device: name), at: taker)
        run(for: .milliseconds(20))
        request(.pair(device: name, code: code), at: taker, of: taken)
        run(for: .seconds(1))
        guard case .paired(_, isConfirmed: true)? = replies(taken, at: taker).last else { return nil }
        return try? devices[taker].pairs().last?.id
    }

    // MARK: - Time

    func run(for time: Duration) {
        let end: Instant = now + time
        while true {
            let next = events.map(\.at).min()
            let deadline = devices.compactMap { $0.neighbourhood?.deadline }.min()
            guard let due = earliest(next, deadline), due <= end else { break }
            now = max(now, due)
            turn()
        }
        now = end
    }

    /// Does what is due. Each device is asked again only when it has said so.
    private func turn() {
        let due = events.filter { $0.at <= now }.sorted { ($0.at, $0.order) < ($1.at, $1.order) }
        events.removeAll { $0.at <= now }
        for (_, _, event) in due {
            happen(event)
            settle()
        }
        for device in devices { device.neighbourhood?.poll(at: now) }
        settle()
    }

    private func add(_ delay: Duration, _ event: Event) {
        order += 1
        events.append((now + delay, order, event))
    }

    private func happen(_ event: Event) {
        switch event {
        case .arrive(let client, let number, let place): arrive(client, number, place)
        case .message(let end, let bytes):
            guard wires[end] != nil else { return }
            devices[end.device].neighbourhood?.receive(bytes, on: end.number, at: now)
        case .file(let index, let result): devices[index].neighbourhood?.note(result, at: now)
        case .end(let end): devices[end.device].neighbourhood?.ended(end.number, at: now)
        case .seen(let index, let sighting): devices[index].neighbourhood?.note(.seen(sighting), by: .beacon, at: now)
        case .lost(let index, let instance, let host):
            devices[index].neighbourhood?.note(.lost(instance, source: host), by: .beacon, at: now)
        }
    }

    private func arrive(_ client: Int, _ number: Int, _ place: Endpoint) {
        let own = End(device: client, number: number)
        guard !given.contains(own), let server = devices.firstIndex(where: { $0.host == place.host }),
            isThere(client, server)
        else { return }
        let from = Endpoint(host: devices[client].host, port: 40_000)
        guard let accepted = devices[server].neighbourhood?.accept(from: from, at: now) else {
            return add(Self.latency, .end(of: own))
        }
        let other = End(device: server, number: accepted)
        (wires[own], wires[other]) = (other, own)
        let certificate = devices[server].certificate
        devices[server].neighbourhood?.opened(accepted, certificate: certificate, at: now)
        devices[client].neighbourhood?.opened(number, certificate: certificate, at: now)
    }

    private func isThere(_ one: Int, _ other: Int) -> Bool { !unplugged.contains(one) && !unplugged.contains(other) }

    /// Takes what the devices have put out.
    private func settle() {
        for (index, device) in devices.enumerated() {
            while let output = device.neighbourhood?.nextOutput() { carryOut(output, of: index, device) }
        }
    }

    private func carryOut(_ output: Neighbourhood.Output, of index: Int, _ device: Device) {
        switch output {
        case .advertise(let announcement, let name):
            device.announced = announcement.map { ($0, name) }
            device.neighbourhood?.note(ownPlaces: [Endpoint(host: device.host, port: 1)], at: now)
            for other in devices.indices where other != index { tell(other, of: device) }
        case .query: break
        case .dial(let number, let place): add(Self.latency, .arrive(from: index, number: number, place))
        case .send(let number, let bytes):
            device.sent.append(bytes)
            guard let other = wires[End(device: index, number: number)], isThere(index, other.device) else { return }
            add(Self.latency, .message(to: other, bytes))
        case .close(let number):
            let own = End(device: index, number: number)
            guard let other = wires.removeValue(forKey: own) else {
                given.insert(own)
                return
            }
            // What was sent before comes before.
            if isThere(index, other.device) { add(Self.latency, .end(of: other)) }
        case .reply(let client, let reply): device.replies[client, default: []].append(reply)
        case .hangUp(let client):
            device.hungUp.insert(client)
            device.neighbourhood?.clientGone(client, at: now)
        case .file(let job):
            if let result = device.files.perform(job) { add(.microseconds(100), .file(of: index, result)) }
        case .note(let sentence): device.notes.append(sentence)
        case .leave: break
        }
    }

    private func tell(_ index: Int, of sender: Device) {
        guard !isSilent, let announced = sender.announced, let own = devices.firstIndex(where: { $0 === sender }),
            isThere(index, own)
        else { return }
        let sighting = Sighting(
            announced.announcement,
            from: sender.host,
            name: announced.name,
            endpoints: [Endpoint(host: sender.host, port: 1)]
        )
        add(Self.latency, .seen(by: index, sighting))
    }
}
