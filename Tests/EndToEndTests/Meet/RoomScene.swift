import TestSupport

/// A member of the room with a screen of one colour.
final class RoomMember {
    let display: XServer
    let broadcast: Broadcast
    let capture: Subprocess
    private let server: String
    private let place: ([String]) -> [String]

    /// - Parameters:
    ///   - server: the host of the server of rooms, as a URL has it.
    ///   - place: where its sender runs.
    init(
        _ colour: RenderedPictures.Colour,
        of server: String,
        at place: @escaping ([String]) -> [String]
    ) throws {
        (self.server, self.place) = (server, place)
        display = try XServer(.virtual(width: 640, height: 480))
        try display.fill(colour)
        broadcast = try Broadcast(on: display.display)
        capture = try broadcast.start("--no-cursor")
    }

    deinit { capture.stop() }

    func attach(_ arguments: String..., environment: [String: String] = [:]) throws -> Subprocess {
        try attach(arguments, environment: environment)
    }

    func attach(_ arguments: [String], environment: [String: String] = [:]) throws -> Subprocess {
        let call = "room+http://\(server):8090/tea"
        let command = [Programs.oriel, "attach", "--dir", broadcast.directory, call, "--size", "640x480"]
        return try Subprocess(place(command + arguments), environment: environment)
    }

    /// Where it may write.
    func file(_ name: String) -> String { broadcast.folder.file(name) }
}

/// A room that two with screens, and browsers, may join.
final class RoomScene {
    let network: Network
    let rooms: Subprocess
    let first: RoomMember
    let second: RoomMember

    init(over family: Network.Family = .ipv4) throws {
        let network = try Network(family)
        self.network = network
        let host = network.senderHost
        let rooms = try Subprocess(network.atSender([Programs.oriel, "rooms", "--listen", "\(host):8090"]))
        self.rooms = rooms
        try rooms.wait(until: "the server of rooms listens") { rooms.output.contains("http") }
        first = try RoomMember(.red, of: host, at: network.atSender)
        second = try RoomMember(.blue, of: host, at: network.atViewer)
    }

    deinit { rooms.stop() }

    /// - Parameter sound: the server by whose default device it is heard; nil for none.
    func open(_ kind: Browser.Kind, sound: PulseServer? = nil, _ arguments: String...) throws -> Browser {
        let browser =
            sound == nil && arguments.isEmpty
            ? try network.browser(kind) : try Browser(kind, in: network, sound: sound, kind.arguments + arguments)
        try browser.open("http://\(Network.senderAddress):8090/tea")
        return browser
    }
}
