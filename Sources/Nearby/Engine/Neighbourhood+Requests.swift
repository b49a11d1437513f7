import Discovery
import JSON
import Link
import Pairing
package import Time

/// What commands ask.
extension Neighbourhood {
    /// A command that waits for a device which shows a code.
    struct Finder {
        /// Between two questions to a host.
        static let interval = Duration.seconds(1)

        /// Between two looks at all devices.
        static let lookInterval = Duration.milliseconds(100)

        let device: String
        var askAt: Instant
        var lookAt: Instant
        var queryAt: Instant
    }

    /// Where a device that takes a code is.
    private struct Place {
        let device: NearbyDevice
        let token: [UInt8]
        let endpoints: [Endpoint]
    }

    /// - Parameter file: that came with the request.
    package mutating func request(
        _ request: NearbyRequest,
        with file: GivenFile? = nil,
        of client: Int,
        at now: Instant
    ) {
        switch request {
        case .watch(let visibility):
            watchers[client] = visibility
            announce()
            links.watch(true, at: now)
            for device in listed() { outputs.append(.reply(client: client, .device(device))) }
            for (driver, problem) in problems.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
                outputs.append(.reply(client: client, .problem(driver: driver.rawValue, sentence: problem)))
            }
            outputs.append(.reply(client: client, .listed))
        case .showCode(let isPhotographed): show(isPhotographed, for: client, at: now)
        case .find(let device):
            finders[client] = Finder(device: device, askAt: now, lookAt: now, queryAt: now)
            ask(for: client, at: now)
        case .pair(let device, let code): pair(client, device, code, at: now)
        case .reload:
            reload(at: now)
            outputs.append(.reply(client: client, .done))
        case .unpair(let id): unpair(id, for: client, at: now)
        case .tell(let id, let text, let parameters):
            tell(id, DeviceMessage(text: text, parameters: parameters), for: client, at: now)
        case .sendFile(let id, let name): sendFile(id, name: name, file, for: client, at: now)
        case .leave: outputs.append(.leave)
        }
        settle(at: now)
    }

    /// A command has ended.
    package mutating func clientGone(_ client: Int, at now: Instant) {
        if watchers.removeValue(forKey: client) != nil {
            if watchers.isEmpty { links.watch(false, at: now) }
            announce()
        }
        finders[client] = nil
        messages = messages.filter { $0.value.client != client }
        for id in errands.keys { errands[id]!.removeAll { $0.client == client } }
        cancelSendings(of: client, at: now)
        links.stopPairing(client, at: now)
        if shower == client { stopShowing() }
        settle(at: now)
    }

    mutating func fail(_ client: Int, _ failure: NearbyFailure, _ sentence: String) {
        outputs += [.reply(client: client, .failed(failure, sentence: sentence)), .hangUp(client: client)]
    }

    // MARK: - Devices

    mutating func tellWatchers(of identity: DeviceList.Identity) {
        guard !watchers.isEmpty else { return }
        let reply = described(identity).map { NearbyReply.device($0) } ?? .lost(id: Self.name(identity))
        for client in watchers.keys { outputs.append(.reply(client: client, reply)) }
    }

    /// The pairs, and then the others that are announced.
    private mutating func listed() -> [NearbyDevice] {
        let others = list.devices().map(\.identity).filter { if case .instance = $0 { true } else { false } }
        return (pairs.filter { $0.state != .unpaired }.map { .pair($0.id) } + others).compactMap { described($0) }
    }

    private static func name(_ identity: DeviceList.Identity) -> String {
        switch identity {
        case .pair(let id): "\(id)"
        case .instance(let bytes): bytes.hexadecimal
        }
    }

    /// - Returns: nil for a device that is gone, and no pair.
    private mutating func described(_ identity: DeviceList.Identity) -> NearbyDevice? {
        let found = list.device(identity)
        var known: Pair?
        if case .pair(let id) = identity { known = pair(id).flatMap { $0.state == .unpaired ? nil : $0 } }
        guard found != nil || known != nil else { return nil }
        var drivers: [String] = []
        for (driver, _) in found?.endpoints ?? [] where !drivers.contains(driver.rawValue) {
            drivers.append(driver.rawValue)
        }
        var device = NearbyDevice(
            id: Self.name(identity),
            name: known?.name ?? found?.name ?? "",
            isPaired: known?.state == .paired,
            state: found?.state.rawValue,
            takesCode: found?.token != nil,
            drivers: drivers,
            addresses: found?.endpoints.map { "\($0.endpoint)" } ?? [],
            link: nil,
            since: sinces[identity],
            codecs: found?.codecs ?? []
        )
        guard case .pair(let id) = identity, known != nil else { return device }
        switch links.state(of: id) {
        case .notConnected: device.link = .notConnected
        case .connecting: device.link = .connecting
        case .connected(let endpoint, let isAway):
            device.link = isAway ? .away : .connected
            let way = found?.endpoints.first { $0.endpoint.host == endpoint.host }?.driver
            device.drivers = [(way ?? .address).rawValue] + drivers.filter { $0 != (way ?? .address).rawValue }
        }
        return device
    }

    // MARK: - To take a code to a device

    /// Another device may be the one.
    mutating func hasten(_ client: Int, at now: Instant) {
        guard let finder = finders[client] else { return }
        finders[client]!.askAt = min(finder.askAt, max(finder.lookAt, now))
        guard now >= finder.lookAt else { return }
        finders[client]!.lookAt = now + Finder.lookInterval
        ask(for: client, at: now)
    }

    /// Looks for the device of a command once more.
    mutating func ask(for client: Int, at now: Instant) {
        guard let finder = finders[client], now >= finder.askAt else { return }
        finders[client]!.askAt = now + Finder.interval
        switch place(of: finder.device) {
        case .success(let place?):
            finders[client] = nil
            outputs.append(.reply(client: client, .found(place.device)))
        case .success(nil):
            guard now >= finder.queryAt else { return }
            finders[client]!.queryAt = now + Finder.interval
            if let host = Self.address(finder.device)?.host { outputs.append(.query(host: host)) }
        case .failure(let ambiguous):
            finders[client] = nil
            fail(client, .refused, ambiguous.sentence)
        }
    }

    private struct Ambiguous: Error { let sentence: String }

    /// An address in numbers that a person has typed, if it is one.
    private static func address(_ text: String) -> Endpoint? {
        (PairingLink(text)?.endpoint ?? Endpoint(text)).flatMap { $0.isNumeric ? $0 : nil }
    }

    /// The device that a text means; nil if there is none yet that shows a code.
    private mutating func place(of text: String) -> Result<Place?, Ambiguous> {
        if let link = PairingLink(text), let token = link.token {
            let id = "\(link.endpoint)"
            let device = NearbyDevice(
                id: text,
                name: link.endpoint.host,
                isPaired: false,
                state: nil,
                takesCode: true,
                drivers: [Driver.address.rawValue],
                addresses: [id],
                link: nil,
                since: nil,
                codecs: []
            )
            return .success(Place(device: device, token: token, endpoints: [link.endpoint]))
        }
        let address = Self.address(text)
        let found = list.devices().filter { device in
            guard device.token != nil else { return false }
            if let address { return device.endpoints.contains { $0.endpoint.host == address.host } }
            return device.name == text || Self.name(device.identity) == text
        }
        guard found.count < 2 else {
            let ids = found.map { "\(Self.name($0.identity)) (\($0.endpoints.first.map { "\($0.endpoint)" } ?? ""))" }
            return .failure(
                Ambiguous(sentence: "several devices are \(text): say which by \(ids.joined(separator: " or "))")
            )
        }
        guard let device = found.first, let token = device.token, let described = described(device.identity) else {
            return .success(nil)
        }
        return .success(Place(device: described, token: token, endpoints: device.endpoints.map(\.endpoint)))
    }

    private mutating func pair(_ client: Int, _ device: String, _ text: String, at now: Instant) {
        guard let code = PairingCode(typed: text) else {
            return fail(client, .refused, "a code is six digits, or the text of a photographed one")
        }
        switch place(of: device) {
        case .success(let place?): links.pair(client, code, token: place.token, places: place.endpoints, at: now)
        case .success(nil): fail(client, .unavailable, "\(device) shows no code any more")
        case .failure(let ambiguous): fail(client, .refused, ambiguous.sentence)
        }
    }
}
