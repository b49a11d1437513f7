import Discovery
import Glibc
import Helpers
package import Pairing
package import Posix
import TLS
import Time

/// The process that has the network of devices nearby, the pairs, and nothing else: one loop over all of its sockets.
package final class NearbyProcess {
    /// How long a closed link may take to send what waits.
    private static let closingTime = Duration.seconds(1)
    /// A process that belongs to no share stays that long after its last command.
    private static let idleTime = Duration.seconds(2)
    /// Nothing more is taken for that long, where there are no descriptors.
    private static let acceptPause = Duration.milliseconds(200)
    /// In one turn, of each address family.
    private static let mostAccepts = 16

    private let isLasting: Bool
    private let control: LocalListener
    private let endpoint: TLSEndpoint
    private var neighbourhood: Neighbourhood
    private let beacons: BeaconDriver
    private let files: FileWorker
    private let network: NetworkWatch
    private let suspends: SuspendWatch
    private var listener4: StreamListener?
    private var listener6: StreamListener?
    private var interfaces = NetworkInterface.all()
    private var ownPort = Endpoint.usualPort
    private var acceptAt = Instant.start
    private var links: [Int: LinkSocket] = [:]
    private var commands: [Int: CommandConnection] = [:]
    private var lastCommand = 0
    private var idleSince: Instant
    private var isLeaving = false
    private var buffer = [UInt8](repeating: 0, count: LinkSocket.bufferSize)

    /// - Parameters:
    ///   - name: of this device.
    ///   - isLasting: whether it stays without commands.
    ///   - inbox: the folder for files that come; nil to take none.
    ///   - control: for commands.
    /// - Throws: `PairStoreError`, `SystemError`, `TLSError`.
    package init(
        _ visibility: Neighbourhood.Visibility,
        name: String,
        isLasting: Bool,
        inbox: String?,
        store: PairStore,
        control: consuming LocalListener
    ) throws {
        let now: Instant = MonotonicClock.now()
        (self.isLasting, idleSince) = (isLasting, now)
        endpoint = try TLSEndpoint()
        neighbourhood = try Neighbourhood(
            visibility,
            name: name,
            isLasting: isLasting,
            takesFiles: inbox != nil,
            store: store,
            certificate: endpoint.certificate,
            clock: { internetTime(nanosecondsSince1970: MonotonicClock.wallClock()) },
            at: now
        )
        beacons = BeaconDriver(instance: neighbourhood.ownInstance, at: now)
        files = try FileWorker(inbox: inbox)
        network = try NetworkWatch()
        suspends = try SuspendWatch()
        self.control = control
    }

    /// Runs until a signal comes, or nobody needs it.
    package func run(until signals: borrowing TerminationSignals) throws {
        carryOut(at: MonotonicClock.now())
        while !isLeaving, !signals.take() {
            let now: Instant = MonotonicClock.now()
            if !isLasting, commands.isEmpty, now - idleSince >= Self.idleTime { break }
            try wait(signals, at: now)
        }
        end()
    }

    // MARK: - The loop

    private func wait(_ signals: borrowing TerminationSignals, at now: Instant) throws {
        let command = now >= acceptAt ? control.raw : -1
        let fixed = [signals.descriptor.raw, command, network.descriptor.raw, suspends.descriptor.raw, files.raw]
        var items = fixed.map { PollItem($0) } + beacons.descriptors.map { PollItem($0) }
        let first = items.count
        let listening = now >= acceptAt ? [listener4?.raw, listener6?.raw].compactMap(\.self) : []
        items += listening.map { PollItem($0) }
        let commandNumbers = Array(commands.keys)
        items += commandNumbers.map { PollItem(commands[$0]!.raw, wantsWrite: commands[$0]!.wantsWrite) }
        let linkNumbers = Array(links.keys)
        items += linkNumbers.map { PollItem(links[$0]!.raw, wantsWrite: links[$0]!.wantsWrite) }
        try poll(&items, until: deadline(at: now))

        let now: Instant = MonotonicClock.now()
        if items[1].isReadable { acceptCommand() }
        if items[2].isReadable { networkChanged(at: now) }
        if items[3].isReadable, suspends.takeSuspend() != nil {
            neighbourhood.wokeUp(at: now)
            networkChanged(at: now, always: true)
        }
        if items[4].isReadable { for result in files.takeResults() { neighbourhood.note(result, at: now) } }
        beacons.turn(at: now) { neighbourhood.note($0, by: .beacon, at: now) }
        neighbourhood.note(problem: beacons.problem, of: .beacon)
        if items[first..<first + listening.count].contains(where: \.isReadable) { acceptLinks(at: now) }
        for (number, item) in zip(commandNumbers, items[(first + listening.count)...]) where item.isReadable {
            for (request, file) in commands[number]!.read() {
                neighbourhood.request(request, with: file, of: number, at: now)
            }
        }
        for (number, item) in zip(linkNumbers, items.suffix(linkNumbers.count)) where item.isReadable {
            read(number, at: now)
        }
        neighbourhood.poll(at: now)
        carryOut(at: now)
    }

    private func deadline(at now: Instant) -> Instant? {
        var next = earliest(neighbourhood.deadline, beacons.deadline)
        if !isLasting, commands.isEmpty { next = earliest(next, idleSince + Self.idleTime) }
        if now < acceptAt { next = earliest(next, acceptAt) }
        for link in links.values { next = earliest(next, link.cutAt) }
        return next
    }

    /// Does what the engine has put out, until nothing more comes of it.
    private func carryOut(at now: Instant) {
        repeat {
            while let output = neighbourhood.nextOutput() { carryOut(output, at: now) }
        } while tidy(at: now)
    }

    private func carryOut(_ output: Neighbourhood.Output, at now: Instant) {
        switch output {
        case .advertise(let announcement, let name): advertise(announcement, name, at: now)
        case .query(let host): beacons.query(host)
        case .dial(let number, let place): dial(number, place, at: now)
        case .send(let number, let message): links[number]?.send(message)
        case .close(let number): links[number]?.close(by: now + Self.closingTime)
        case .reply(let client, let reply): commands[client]?.reply(reply)
        case .hangUp(let client): commands[client]?.close()
        case .file(let job):
            do throws(SystemError) { try files.add(job) } catch {
                Console.note("cannot start a thread for files (\(error.reason)): close other programs")
            }
        case .note(let sentence): Console.note(sentence)
        case .leave: if !isLasting { isLeaving = true }
        }
    }

    /// Sends what waits, and forgets what has ended. Returns whether something has.
    private func tidy(at now: Instant) -> Bool {
        var hasChanged = false
        for (number, command) in commands {
            command.flush()
            guard command.hasEnded else { continue }
            commands[number] = nil
            hasChanged = true
            if commands.isEmpty { idleSince = now }
            neighbourhood.clientGone(number, at: now)
        }
        for (number, link) in links {
            link.flush()
            guard link.hasEnded || link.cutAt.map({ now >= $0 }) ?? false else { continue }
            links[number] = nil
            hasChanged = true
            neighbourhood.ended(number, at: now)
        }
        return hasChanged
    }

    private func end() {
        let now: Instant = MonotonicClock.now()
        neighbourhood.closeAll(at: now)
        carryOut(at: now)
        beacons.advertise(nil, name: "", port: 0, at: now)
        files.close()
    }

    // MARK: - Sockets

    private func acceptCommand() {
        guard let channel = control.accept() else {
            acceptAt = MonotonicClock.now() + Self.acceptPause
            return
        }
        lastCommand += 1
        commands[lastCommand] = CommandConnection(channel)
    }

    private func acceptLinks(at now: Instant) {
        do throws(SystemError) {
            for _ in 0..<Self.mostAccepts {
                if let socket = try listener4?.accept() { take(socket, at: now) }
                if let socket = try listener6?.accept() { take(socket, at: now) }
            }
        } catch {
            // It still waits: to look again at once would not help.
            acceptAt = now + Self.acceptPause
        }
    }

    private func take(_ socket: consuming ConnectedSocket, at now: Instant) {
        guard let peer = try? socket.peerAddress() else { return }
        let place = Endpoint(host: peer.host, interface: peer.interface, port: peer.port)
        guard let number = neighbourhood.accept(from: place, at: now) else { return }
        guard let link = try? LinkSocket(.server, over: socket, of: endpoint) else {
            return neighbourhood.ended(number, at: now)
        }
        links[number] = link
    }

    private func dial(_ number: Int, _ place: Endpoint, at now: Instant) {
        guard let address = SocketAddress(numbers: place.host, interface: place.interface, port: place.port),
            let socket = try? ConnectedSocket(isStream: true, to: address),
            let link = try? LinkSocket(.client, over: socket, of: endpoint)
        else { return neighbourhood.ended(number, at: now) }
        links[number] = link
    }

    private func read(_ number: Int, at now: Instant) {
        guard let link = links[number] else { return }
        link.read(into: &buffer, longest: { neighbourhood.longestMessage(on: number) }) { event in
            switch event {
            case .opened(let certificate): neighbourhood.opened(number, certificate: certificate, at: now)
            case .message(let message): neighbourhood.receive(message, on: number, at: now)
            case .ended: neighbourhood.ended(number, at: now)
            }
        }
    }

    private func advertise(_ announcement: Announcement?, _ name: String, at now: Instant) {
        if announcement == nil {
            listener4 = nil
            listener6 = nil
        } else if listener4 == nil, listener6 == nil {
            listen()
        }
        beacons.advertise(announcement, name: name, port: ownPort, at: now)
        tellOwnPlaces(at: now)
    }

    private func tellOwnPlaces(at now: Instant) {
        let places = beacons.addresses.map { Endpoint(host: $0, port: ownPort) }
        // Link-local ones are of use on this machine alone.
        neighbourhood.note(ownPlaces: places.filter { $0.order < 2 }.sorted { $0.order < $1.order }, at: now)
    }

    /// Takes links at the usual port, or at another one, of both address families.
    private func listen() {
        for port in [Endpoint.usualPort, 0] {
            guard let listener = try? StreamListener(family: AF_INET, port: port),
                let own = try? listener.localAddress().port
            else { continue }
            listener4 = consume listener
            listener6 = try? StreamListener(family: AF_INET6, port: own)
            ownPort = own
            return
        }
    }

    /// - Parameter always: also if the addresses are the same, as after a suspend.
    private func networkChanged(at now: Instant, always: Bool = false) {
        network.takeChanges()
        let present = NetworkInterface.all()
        if present == interfaces, !always { return }
        interfaces = present
        beacons.networkChanged(at: now)
        tellOwnPlaces(at: now)
        neighbourhood.networkChanged(at: now)
    }
}
