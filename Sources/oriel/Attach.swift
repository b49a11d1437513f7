import ArgumentParser
import Calls
import FrameBridge
import HTTP
import Posix
import Sender

struct Attach: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Attach a sender to a broadcast and stream it into calls.",
        discussion: """
            A CALL is "web": browsers look in by the address that goes to standard output; room+https://HOST/ROOM: the other \
            member of a one-to-one room whose server speaks Socket.IO, such as "oriel rooms"; whip+https://HOST/PATH: a media server, by WHIP; janus+ws://HOST:PORT/ROOM: a room of \
            a Janus server; or rtp://HOST:PORT: plain, \
            unencrypted RTP to one receiver or multicast group, with RTCP on the next port, and the description that a \
            receiver needs (SDP) goes to standard output or to the file of --sdp. Several calls share one encode where they \
            take the same.
            """
    )

    @Argument(
        help: ArgumentHelp(
            "Where to: web, room+https://HOST/ROOM, whip+https://HOST/PATH, janus+ws://HOST:PORT/ROOM, or rtp://HOST:PORT; several may be given.",
            valueName: "call"
        ),
        transform: { try Call(parsing: $0) }
    )
    var calls: [Call]

    @OptionGroup var broadcast: BroadcastOptions
    @OptionGroup var video: VideoOptions
    @OptionGroup var sender: SenderOptions
    @OptionGroup var entry: AcceptOptions
    @OptionGroup(title: "Options of web") var web: WebOptions
    @OptionGroup(title: "Options of room+, whip+ and janus+") var joined: JoinedCallOptions
    @OptionGroup(title: "Options of room+") var rendering: RenderOptions
    @OptionGroup(title: "Options of rtp://") var rtp: PlainRTPOptions

    @Option(help: "Frames a second at the most, 1 to 60.")
    var fps = 30

    @Flag(inversion: .prefixedNo, help: "Wait for a broadcast if there is none.")
    var wait = true

    func validate() throws {
        guard 1...60 ~= fps else { throw ValidationError("--fps \(fps) is out of range: give 1 to 60.") }
        try joined.validate(for: calls)
        if rtp.print != nil, calls.contains(where: { $0.destination == nil }) {
            throw ValidationError("--print tells the receivers of rtp:// calls what they need: give such calls alone.")
        }
        let hasPlainCall = calls.contains { $0.destination != nil }
        try rendering.validate(for: calls, printsDescriptions: hasPlainCall && rtp.sdp == nil)
        guard calls.count(where: { $0.destination != nil }) > 1 else { return }
        if rtp.sdp != nil {
            throw ValidationError("--sdp takes the description of one rtp:// call: attach a sender to each.")
        }
        if rtp.localPort != nil {
            throw ValidationError("--local-port is for one rtp:// call: attach a sender to each.")
        }
    }

    func run() throws {
        if let receiver = rtp.print {
            let rendition = video.renditions(fps: fps)[0]
            for destination in calls.compactMap(\.destination) {
                Console.emit(try receiver.instructions(for: destination, rendition))
            }
            return
        }
        let signals = try TerminationSignals()
        guard let reader = try AttachedReader.open(broadcast, waits: wait, until: signals) else { return }
        let log = try sender.stats.map { try StatisticsLog(path: $0) }
        let events = try EventLog(path: sender.events)
        guard let rendering = try PreparedRendering.prepare(rendering, broadcast, until: signals) else { return }
        let end = try send(reader, log: log, events, rendering, until: signals)
        if end == .broadcastStopped { Console.note("the broadcast has ended") }
    }
}

/// A call by its name on the command line.
enum Call: Equatable, CustomStringConvertible {
    case janus(JanusAddress)
    case plainRTP(RTPDestination)
    case room(RoomAddress)
    case web
    /// The endpoint of a media server.
    case whip(WebURL)

    init(parsing text: String) throws {
        if text == "web" {
            self = .web
        } else if text.lowercased().hasPrefix("janus+") {
            self = .janus(try JanusAddress(parsing: text))
        } else if text.lowercased().hasPrefix("room+") {
            self = .room(try RoomAddress(parsing: text))
        } else if text.lowercased().hasPrefix("whip+") {
            guard let endpoint = WebURL(parsing: String(text.dropFirst(5))) else {
                throw ValidationError("\(text) is no endpoint of WHIP: write whip+https://HOST/PATH")
            }
            self = .whip(endpoint)
        } else {
            self = .plainRTP(try RTPDestination(parsing: text))
        }
    }

    /// Where a plain RTP call sends; nil for others.
    var destination: RTPDestination? { if case .plainRTP(let destination) = self { destination } else { nil } }

    var isJanus: Bool { if case .janus = self { true } else { false } }

    var isWHIP: Bool { if case .whip = self { true } else { false } }

    /// Whether others run it, by a server that this side asks.
    var isJoined: Bool {
        switch self {
        case .janus, .room, .whip: true
        case .plainRTP, .web: false
        }
    }

    var description: String {
        switch self {
        case .janus(let address): "\(address)"
        case .plainRTP(let destination): "\(destination)"
        case .room(let address): "\(address)"
        case .web: "web"
        case .whip(let endpoint): "whip+\(endpoint)"
        }
    }
}
