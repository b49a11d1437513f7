import ArgumentParser
import Calls
import Configuration
import Credentials
import Glibc
import HTTP
import Helpers
import Posix

struct Rooms: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Serve rooms in which two meet: the signalling of one-to-one calls by Socket.IO.",
        discussion: """
            Clients send "join", "leave" and "message"; the other members of the room get each message as it is. Media does not \
            pass: the two send it to each other. Only members at the page of a room are told the STUN and TURN servers, with their \
            logins.
            """
    )

    @OptionGroup var server: ServerOptions

    @OptionGroup var iceServers: ICEServerOptions

    @Option(help: "Seats of a room, 2 to 16.")
    var capacity = 2

    @Option(help: "Clients at most, 2 to 10000.")
    var maxClients = 4096

    @Option(
        help:
            "Name of the event that tells a member that another one joined: otherjoin, other_joined or other_join."
    )
    var otherJoined = RoomEvent.OtherJoinedName.otherjoin

    func validate() throws {
        try require("--capacity", capacity, in: 2...16)
        try require("--max-clients", maxClients, in: 2...10_000)
    }

    func run() throws {
        let signals = try TerminationSignals()
        try requireThreads()
        // What clients send in a burst, and leave unread, is large beside all else here, and is gone soon.
        returnFreedMemory(ofBlocksFrom: 16 << 10)
        let server = server.settings
        let tls = try server.tls()
        let iceServers = try iceServers.settings
        let secret = try iceServers.turnSecret()
        let iceServerLinks = try iceServers.links(secret)
        let secretFile = try iceServers.file(of: secret)
        // Netlink tells the machine's addresses, for the links.
        var sandbox = Sandbox(
            writable: nil,
            readable: [],
            socketFamilies: [AF_INET, AF_INET6, AF_NETLINK]
        )
        sandbox.mayListen = true
        try enterSandbox(by: sandbox.enter)
        try secretFile?.begin()
        defer { secretFile?.close() }
        var configuration = RoomService.Configuration()
        configuration.limits.capacity = capacity
        configuration.limits.rooms = maxClients
        configuration.otherJoinedName = otherJoined
        configuration.mostClients = maxClients
        configuration.iceServerLinks = iceServerLinks
        let limits = limits
        // Clients that poll send by other connections, and networks beside this one have some, too.
        configuration.mostHeldGets = max(limits.connections / 4, 16)
        let http = HTTPServer(limits: limits, proxies: server.proxies)
        defer { http.close() }
        let rooms = RoomService(configuration, of: http, note: Console.note)
        let listener = try http.listen(
            on: server.listen,
            tls: tls?.current,
            takeSocket: rooms.takeSocket,
            respond: rooms.respond
        )
        Console.print(server.links(port: listener.port, tls: tls?.first))
        while !signals.take() { waitReadable([signals.descriptor.raw].span, until: nil) }
        listener.close()
    }

    /// A client that polls has two connections now and then, and a browser that loads the page more. All may come from one network, or
    /// through a proxy that is not named: that gets half of the connections, one for each client.
    private var limits: HTTPLimits {
        let connections = min(max(FileLimit.raise() - 64, 64), max(2 * maxClients, 128))
        var limits = HTTPLimits()
        (limits.connections, limits.connectionsOfOneNetwork) = (connections, connections)
        limits.bodySize = 128 * 1024
        // Messages of any client that have not come whole count too.
        (limits.unread, limits.unreadOfOneNetwork) = (6 << 20, 3 << 19)
        return limits
    }
}

extension RoomEvent.OtherJoinedName: ExpressibleByArgument {}
