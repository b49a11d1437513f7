import Discovery
import Posix
import Time

/// Finds devices by own datagrams (`BeaconEngine`).
final class BeaconDriver {
    /// By then, what was sent to all has come back to this machine, unless a firewall drops it.
    private static let echoTime = Duration.seconds(1)
    /// Datagrams in one turn; links have theirs, too.
    private static let mostAtOnce = 128

    private var engine: BeaconEngine
    private let instance: [UInt8]
    private var interfaces: [NetworkInterface] = []
    private var group4: GroupSocket?
    private var group6: GroupSocket?
    private var buffer = [UInt8](repeating: 0, count: Beacon.longest + 1)
    private var echoUntil: Instant?
    /// What this driver cannot do; nil if it can.
    private(set) var problem: String?

    /// - Parameter instance: of this device's announcements.
    init(instance: [UInt8], at now: Instant) {
        self.instance = instance
        engine = BeaconEngine(instance: instance)
        open()
        engine.browse(at: now)
    }

    var descriptors: [Int32] { [group4?.raw, group6?.raw].compactMap(\.self) }
    var deadline: Instant? { earliest(engine.deadline, echoUntil) }
    /// Addresses of this machine by which others reach it.
    var addresses: [String] { interfaces.flatMap(\.addresses) }

    func advertise(_ announcement: Announcement?, name: String, port: UInt16, at now: Instant) {
        if let announcement {
            engine.advertise(announcement, name: name, port: port, at: now)
        } else {
            engine.stopAdvertising(at: now)
        }
        send(at: now) { _ in }
    }

    /// Asks one host for its announcement.
    func query(_ host: String) {
        guard let address = SocketAddress(numbers: host, port: Beacon.port) else { return }
        send(Beacon.query.bytes, to: address)
    }

    func networkChanged(at now: Instant) {
        open()
        engine.networkChanged(at: now)
    }

    /// Does what is due, and takes what has come.
    ///
    /// - Parameter news: gets what has become of others.
    func turn(at now: Instant, news: (SightingNews) -> Void) {
        engine.poll(at: now)
        receive(at: now)
        if let end = echoUntil, now >= end {
            echoUntil = nil
            problem =
                "nothing comes in at UDP port \(Beacon.port): let the firewall pass it, and TCP port \(Endpoint.usualPort)"
        }
        send(at: now, news: news)
    }

    private func receive(at now: Instant) {
        var taken: [(bytes: [UInt8], source: SocketAddress)] = []
        while taken.count < Self.mostAtOnce, let datagram = try? group4?.receive(into: &buffer) {
            taken.append((Array(buffer[..<datagram.count]), datagram.source))
        }
        while taken.count < 2 * Self.mostAtOnce, let datagram = try? group6?.receive(into: &buffer) {
            taken.append((Array(buffer[..<datagram.count]), datagram.source))
        }
        for (bytes, source) in taken {
            if source.port == Beacon.port, addresses.contains(source.host) { noteEcho() }
            let endpoint = Endpoint(host: source.host, interface: source.interface, port: source.port)
            engine.receive(bytes, from: endpoint, at: now)
        }
    }

    private func noteEcho() {
        echoUntil = nil
        if !interfaces.isEmpty { problem = nil }
    }

    /// Looks at the interfaces, and joins the groups there.
    private func open() {
        let present = NetworkInterface.all().filter { !$0.isLoopback }
        do throws(SystemError) {
            if group4 == nil { group4 = try GroupSocket(group: Beacon.group4, port: Beacon.port) }
            problem = present.isEmpty ? "this machine is in no network: connect it to one" : nil
        } catch {
            problem = "UDP port \(Beacon.port) cannot be used (\(error.reason)): see which program has it"
        }
        // A machine without IPv6 has the other one.
        if group6 == nil { group6 = try? GroupSocket(group: Beacon.group6, port: Beacon.port) }
        group4?.keep(present)
        group6?.keep(present)
        for interface in present where interface.isMulticast {
            try? group4?.join(interface)
            try? group6?.join(interface)
        }
        interfaces = present
    }

    private func send(at now: Instant, news: (SightingNews) -> Void) {
        while let output = engine.nextOutput() {
            switch output {
            case .tellAll(let bytes):
                if tellAll(bytes), echoUntil == nil { echoUntil = now + Self.echoTime }
            case .tell(let bytes, let endpoint):
                let (host, port) = (endpoint.host, endpoint.port)
                if let address = SocketAddress(numbers: host, interface: endpoint.interface, port: port) {
                    send(bytes, to: address)
                }
            case .news(let change): news(change)
            }
        }
    }

    /// - Returns: whether it comes back to this machine, too.
    private func tellAll(_ bytes: [UInt8]) -> Bool {
        var isHeard = false
        for interface in interfaces {
            if interface.isMulticast {
                if interface.addresses.contains(where: { !$0.contains(":") }), group4 != nil {
                    if (try? group4?.send(bytes, on: interface)) != nil { isHeard = true }
                }
                if interface.addresses.contains(where: { $0.contains(":") }), group6 != nil {
                    if (try? group6?.send(bytes, on: interface)) != nil { isHeard = true }
                }
            }
            for broadcast in interface.broadcasts {
                if let address = SocketAddress(numbers: broadcast, port: Beacon.port) { send(bytes, to: address) }
            }
        }
        return isHeard
    }

    /// What does not get through is sent again later.
    private func send(_ bytes: [UInt8], to address: SocketAddress) {
        if address.isIPv6 { try? group6?.send(bytes, to: address) } else { try? group4?.send(bytes, to: address) }
    }
}
