import Access
import Calls
import HTTP
import ICE
import Media
import Peers
import Posix
import RTP
import Synchronization
import TestSupport
import Time

/// A web server with a call behind it, on ports of the loopback that the system chooses.
final class WebFixture: Sendable {
    static let token = "secret"
    static let authorization = "Authorization: Bearer secret"
    static let sdp = "Content-Type: application/sdp"
    static let fragment = "Content-Type: application/trickle-ice-sdpfrag"
    static let links = [
        "<stun:stun.example.net:3478>; rel=\"ice-server\"", "<turn:192.0.2.1:3478>; rel=\"ice-server\"",
    ]
    static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47]

    let network: CallNetwork
    let peers: PeerGroup
    let access: AccessControl
    let call: WebCall
    let status: WebStatus
    let picture = Picture()
    let recorders = RecorderDesk()
    let commands = CommandDesk()
    let log: Log
    private let service: WebService
    private let server: HTTPServer
    private let listener: HTTPServer.Listener
    private let isClosed = Atomic(false)

    /// What the next snapshot is; nil while there is none.
    final class Picture: Sendable {
        let bytes = Mutex<[UInt8]?>(WebFixture.png)
        let captureTime = Atomic<UInt64>(0)
        let horizon = Atomic<UInt64>(0)
        /// How often one was made.
        let count = Atomic(0)
    }

    /// What was told of viewers.
    final class Log: Sendable {
        let events = Mutex<[String]>([])
        var all: [String] { events.withLock(\.self) }
    }

    init(
        token: String? = WebFixture.token,
        names: [String] = [],
        origins: [WebOrigin] = [],
        viewerLimit: Int = 2,
        codecs: [VideoCodec] = [.vp8],
        iceServers: [ICEServer] = [],
        isRelayOnly: Bool = false,
        ports: ClosedRange<UInt16>? = nil,
        limits: HTTPLimits = HTTPLimits(),
        proxies: [AddressRange] = [],
        talk: TalkPolicy = .off,
        viewersRecord: Bool = false,
        lease: Int? = nil,
        access: AccessControl? = nil
    ) throws {
        server = HTTPServer(limits: limits, proxies: proxies)
        var settings = AccessEngine.Settings()
        (settings.talk, settings.lease) = (talk, lease)
        if viewersRecord { settings.rights.insert(.record) }
        let access = access ?? AccessControl(settings, token: token, viewerLimit: viewerLimit)
        self.access = access
        let status = WebStatus(hearsViewers: access.talk != .off)
        self.status = status
        let renditions = codecs.enumerated().map { index, codec in
            Rendition(
                id: Rendition.ID(index),
                codec: codec,
                width: 1280,
                height: 720,
                framesPerSecond: 30,
                bitrate: 1_000_000
            )
        }
        var media = SentMedia(codecs: [codecs], renditions: renditions, target: TargetBitrate(1_000_000)) { _ in
        } removeSink: { _ in
        }
        media.voices = access.talk == .off ? nil : DeafReceiver()
        let ice = ICEAgent.Configuration(
            servers: iceServers,
            ports: ports,
            addresses: ["127.0.0.1"],
            isRelayOnly: isRelayOnly
        )
        network = CallNetwork(CallNetwork.Configuration(ICEServers(ice), media)) { _ in }
        peers = try network.peers()
        let log = Log()
        self.log = log
        let host = CallHost(name: "web", network, access: access) { report in
            status.note(report)
            if let sentence = report.sentence { log.events.withLock { $0.append(sentence) } }
        }
        call = try WebCall(in: host, viewerLimit: viewerLimit)
        let picture = picture
        let snapshots = WebService.SnapshotSource {
            Instant(nanoseconds: picture.horizon.load(ordering: .relaxed))
        } picture: {
            picture.count.add(1, ordering: .relaxed)
            return picture.bytes.withLock { bytes in
                let captureTime = Instant(nanoseconds: picture.captureTime.load(ordering: .relaxed))
                return bytes.map { .success(WebService.Snapshot(png: $0, captureTime: captureTime)) }
                    ?? .failure(WebService.SnapshotFailure("there is no picture yet"))
            }
        }
        let address = ListenAddress(host: "127.0.0.1", port: 0)
        var web = WebSettings(listen: address, snapshots: snapshots, recorders: recorders, status: status)
        web.commands = commands
        (web.names, web.origins, web.iceServerLinks) = (names, origins, { Self.links })
        service = WebService(web, call: call)
        listener = try server.listen(on: address, respond: service.respond)
        status.note(.active)
    }

    /// - Parameter network: the client's address, any that begins with 127.
    func connect(from network: String = "127.0.0.1") throws -> HTTPClient {
        try HTTPClient(port: listener.port, from: network)
    }

    /// One request on a connection of its own, with the token.
    func request(
        _ method: String,
        _ path: String,
        _ fields: [String] = [],
        body: String? = nil,
        from network: String = "127.0.0.1"
    ) throws -> ReceivedResponse {
        try connect(from: network).request(method, path, [Self.authorization] + fields, body: body)
    }

    /// Sends a viewer away.
    func kick(_ id: ParticipantID) { _ = network.participants.kick(id, by: access) }

    /// Where viewers joined from.
    var places: [String?] { peers.statuses.map { network.participants[$0.id]?.place } }

    /// Lets a viewer in. Returns the answer's response, with the path of its session and its entity tag.
    func join(by offer: String = offer) throws -> (response: ReceivedResponse, session: String, tag: String) {
        let response = try request("POST", "/whep", [Self.sdp], body: offer)
        return (response, "/\(response["location"] ?? "")", response["etag"] ?? "")
    }

    static let credentials = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdefghijkl\r\n"
    /// A viewer that wants VP8 and says no more than it must.
    static let offer =
        "v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\na=group:BUNDLE 0\r\n"
        + "m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n\(credentials)"
        + "a=fingerprint:sha-256 \((0..<32).map { _ in "AB" }.joined(separator: ":"))\r\na=setup:actpass\r\n"
        + "a=recvonly\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n"

    /// The same, which hears and may speak.
    static let talkingOffer =
        offer.replacing("BUNDLE 0", with: "BUNDLE 0 1")
        + "m=audio 9 UDP/TLS/RTP/SAVPF 111\r\nc=IN IP4 0.0.0.0\r\na=mid:1\r\n"
        + "a=sendrecv\r\na=rtcp-mux\r\na=rtpmap:111 opus/48000/2\r\n"

    /// Ends in the order of a sender. What was ended stays so.
    func close() {
        if isClosed.exchange(true, ordering: .relaxed) { return }
        listener.close()
        service.close()
        network.close()
        server.close()
    }

    deinit { close() }
}

extension HTTPLimits {
    init(_ change: (inout Self) -> Void) {
        self.init()
        change(&self)
    }
}
