import ArgumentParser
import Calls
import Glibc
import HTTP
import Posix

struct Rooms: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve rooms in which two meet: the signalling of one-to-one calls by Socket.IO.",
        discussion: """
            Clients send "join", "leave" and "message"; whoever else is in the room gets each message as it is. Media does not \
            pass: the two send it to each other.
            """
    )

    @Option(
        help: ArgumentHelp(
            "Where to serve: PORT, HOST:PORT or [IPV6]:PORT; all addresses of this machine if no host is named.",
            valueName: "address"
        ),
        transform: {
            try parsed(ListenAddress(parsing: $0), orElse: "give PORT, HOST:PORT or [IPV6]:PORT, such as 8080")
        }
    )
    var listen = ListenAddress(host: nil, port: 8080)

    @Option(help: "Seats of a room, 2 to 16.")
    var capacity = 2

    @Option(help: "Clients at the most, 2 to 10000.")
    var maxClients = 4096

    @Option(
        help:
            "What the event is called by which a member learns that another one came: otherjoin, other_joined or other_join."
    )
    var otherJoined = RoomEvent.OtherJoinedName.otherjoin

    @Option(
        help: ArgumentHelp("Certificate for HTTPS with its chain, as PEM; needs --tls-key.", valueName: "file")
    )
    var tlsCert: String?

    @Option(help: ArgumentHelp("Key of the certificate, as PEM.", valueName: "file"))
    var tlsKey: String?

    func validate() throws {
        guard 2...16 ~= capacity else {
            throw ValidationError("--capacity \(capacity) is out of range: give 2 to 16.")
        }
        guard 2...10_000 ~= maxClients else {
            throw ValidationError("--max-clients \(maxClients) is out of range: give 2 to 10000.")
        }
        guard (tlsCert == nil) == (tlsKey == nil) else {
            throw ValidationError("--tls-cert and --tls-key need each other.")
        }
    }

    func run() throws {
        let signals = try TerminationSignals()
        let tls: TLSIdentity? =
            if let tlsCert, let tlsKey { try TLSIdentity(certificate: tlsCert, key: tlsKey) } else { nil }
        var limits = HTTPServer.Limits(files: FileLimit.raise(), viewers: 0)
        // All clients may come through one proxy.
        (limits.connections, limits.connectionsOfOneNetwork) = (min(limits.connections, 2 * maxClients), 2 * maxClients)
        limits.bodySize = 128 * 1024
        var configuration = RoomService.Configuration()
        configuration.limits.capacity = capacity
        configuration.limits.rooms = maxClients
        configuration.otherJoinedName = otherJoined
        configuration.mostClients = maxClients
        let server = HTTPServer(limits: limits)
        defer { server.close() }
        let rooms = RoomService(configuration, of: server) { Console.note("\($0)") }
        let listener = try server.listen(on: listen, tls: tls, takeSocket: rooms.takeSocket, respond: rooms.respond)
        Console.print(["rooms at port \(listener.port)"])
        while !signals.take() { waitReadable([signals.descriptor.raw].span, until: nil) }
        listener.close()
    }
}

extension RoomEvent.OtherJoinedName: ExpressibleByArgument {}
