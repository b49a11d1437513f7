import Access
import Glibc
import HTTP
import ICE
import JSON
import Media
import Peers
import Posix
import SocketIO
import Synchronization
import TestSupport
import Testing
import Time
import WebRTC

@testable import Calls

/// Members of a room over the loopback: a server, and calls to it with peers of their own.
@Suite struct RoomMembersTests {
    /// A server of rooms.
    private final class Server: Sendable {
        let origin: WebOrigin
        private let http: HTTPServer
        private let rooms: RoomService
        private let listener: HTTPServer.Listener

        init() throws {
            http = HTTPServer(
                limits: HTTPLimits {
                    ($0.connections, $0.connectionsOfOneNetwork, $0.bodySize) = (100, 100, 128 * 1024)
                }
            )
            rooms = RoomService(RoomService.Configuration(), of: http) { _ in }
            listener = try http.listen(
                on: ListenAddress(host: "127.0.0.1", port: 0),
                takeSocket: rooms.takeSocket,
                respond: rooms.respond
            )
            origin = try #require(WebOrigin(parsing: "http://127.0.0.1:\(listener.port)"))
        }

        deinit {
            listener.close()
            http.close()
        }
    }

    /// What a member was told, in order.
    private final class Log: Sendable {
        let lines = Mutex<[String]>([])
        let end = Mutex<CallEnd??>(nil)
        /// Those who came, and those who left.
        let participants = Mutex<(came: [ParticipantID?], left: [ParticipantID?])>(([], []))

        func note(_ line: String) { lines.withLock { $0.append(line) } }
        var text: String { lines.withLock { $0.joined(separator: "\n") } }
    }

    /// A sender in the room, without a picture.
    private final class Member: Sendable {
        let log = Log()
        let peers: PeerGroup
        let access: AccessControl
        let call: RoomCall
        private let network: CallNetwork

        init(of server: Server, name: String = "", note: String = "", asks: Bool = false) throws {
            let log = log
            network = RoomMembersTests.network()
            peers = try network.peers()
            var settings = AccessEngine.Settings()
            (settings.asks, settings.patience) = (asks, .seconds(600))
            access = AccessControl(settings)
            access.begin(AccessControl.Outlets(wake: {}) { log.note($0.sentence ?? "") })
            let address = try RoomAddress(parsing: "room+\(server.origin)/tea")
            let host = CallHost(name: "\(address)", network, access: access, receiver: UnseenPictures()) { report in
                if let sentence = report.sentence { log.note(sentence.replacing("\(address): ", with: "")) }
                switch report.event {
                case .joined(let participant, _): log.participants.withLock { $0.came.append(participant.id) }
                case .left(let participant, _): log.participants.withLock { $0.left.append(participant.id) }
                case .ended(let end): log.end.withLock { $0 = .some(end) }
                case .standing, .away, .refused, .clipBegan, .clipEnded, .remark: break
                }
            }
            call = try RoomCall(address, name: name, note: note, in: host)
        }

        func kick(_ id: ParticipantID) -> Guest? { network.participants.kick(id, by: access) }

        func wait(for line: String) throws {
            try TestSupport.wait(until: "\(line) in \(log.text)") { log.text.contains(line) }
        }

        /// How the call has ended.
        func waitForEnd() throws -> CallEnd? {
            try TestSupport.wait(until: "it is over: \(log.text)") { log.end.withLock { $0 != nil } }
            return log.end.withLock { $0! }
        }

        deinit {
            call.close()
            network.close()
        }
    }

    static func network() -> CallNetwork {
        let rendition = Rendition(
            id: Rendition.ID(0),
            codec: .vp8,
            width: 64,
            height: 64,
            framesPerSecond: 30,
            bitrate: 1_000_000
        )
        let ice = ICEAgent.Configuration(addresses: ["127.0.0.1"])
        let media = SentMedia(codecs: [[.vp8]], renditions: [rendition], target: TargetBitrate(1_000_000)) { _ in
        } removeSink: { _ in
        }
        var configuration = CallNetwork.Configuration(ICEServers(ice), media)
        configuration.suspends = { nil }
        return CallNetwork(configuration) { _ in }
    }

    // MARK: - Letting in

    @Test(arguments: [true, false]) func whoIsLetInIsKnownUntilSentAway(askerIsFirst: Bool) throws {
        let server = try Server()
        func meet() throws -> (asker: Member, ann: Member) {
            if askerIsFirst {
                let asker = try Member(of: server, asks: true)
                try asker.wait(for: "in room tea")
                return (asker, try Member(of: server, name: "Ann", note: "hi"))
            }
            let ann = try Member(of: server, name: "Ann", note: "hi")
            try ann.wait(for: "in room tea")
            return (try Member(of: server, asks: true), ann)
        }
        let (asker, ann) = try meet()
        try asker.wait(for: "\"Ann\" from room tea (\"hi\") asks to look in: \"oriel accept 1\"")
        try ann.wait(for: "lets people in one by one")
        #expect(asker.peers.statuses.isEmpty)
        asker.access.change { engine, _ in _ = engine.answer(1, .accepted) }
        try asker.wait(for: "looks in")
        try ann.wait(for: "looks in")
        try wait(until: "the peer is told of") { asker.peers.statuses.count == 1 }
        let id = try #require(asker.peers.statuses.first?.id)
        #expect(asker.kick(ParticipantID(id.number + 1)) == nil)
        #expect(asker.kick(id)?.name == "Ann")
        let end = try #require(try ann.waitForEnd())
        #expect(end.kind == .refused && end.reason == .kicked)
        try asker.wait(for: "was sent away")
        #expect(asker.log.participants.withLock { $0.came == [id] && $0.left == [id] })
        #expect(asker.log.end.withLock { $0 == nil })
    }

    @Test func whoIsRejectedLearnsIt() throws {
        let server = try Server()
        let asker = try Member(of: server, asks: true)
        try asker.wait(for: "in room tea")
        let ann = try Member(of: server, name: "Ann")
        try asker.wait(for: "\"Ann\" from room tea asks")
        asker.access.change { engine, _ in _ = engine.answer(1, .rejected) }
        let end = try #require(try ann.waitForEnd())
        #expect(end.kind == .refused && end.reason == .rejected)
        #expect(end.description.contains("does not let this side in"))
        // Its seat is free, and the next one asks anew.
        let bob = try Member(of: server, name: "Bob")
        try asker.wait(for: "\"Bob\" from room tea asks")
        bob.call.close()
        try asker.wait(for: "\"Bob\" from room tea waits no more")
    }

    @Test func whoHangsUpIsSaidTo() throws {
        let server = try Server()
        let (one, other) = (try Member(of: server), try Member(of: server))
        try one.wait(for: "looks in")
        try other.wait(for: "looks in")
        other.call.close()
        #expect(try other.waitForEnd() == nil)
        try one.wait(for: "the other member of the room has hung up")
        #expect(one.log.text.ranges(of: "the other member of the room has").count == 1)
    }

    // MARK: - Limits

    /// A program in the room, which says something to the one who comes.
    private final class Stranger: Sendable {
        private let web: WebClient
        private let connection = Mutex<SocketConnection?>(nil)
        private let isThere = Mutex(false)

        /// Waits until it is there.
        init(of server: Server, saying messages: [RoomMessage]) throws {
            web = WebClient(try TLSTrust())
            web.perform { [self] in
                let made = SocketConnection(
                    to: server.origin,
                    path: "/socket.io/",
                    payload: JSONText(object: []),
                    by: web
                ) { [weak self] output, _ in self?.take(output, messages) }
                connection.withLock { $0 = made }
            }
            try wait(until: "it is there") { isThere.withLock(\.self) }
        }

        private func take(_ output: SocketClient.Output, _ messages: [RoomMessage]) {
            func send(_ event: RoomEvent) { connection.withLock(\.self)?.send(event.packet()) }
            switch output {
            case .connected: send(.join(room: "tea"))
            case .received(let packet):
                switch RoomEvent(packet) {
                case .joined: isThere.withLock { $0 = true }
                case .otherJoined: for message in messages { send(.message(room: "tea", message.data)) }
                default: break
                }
            case .disconnected, .transport: break
            }
        }

        func close() {
            web.perform { [self] in connection.withLock { $0.take() }?.close() }
            web.close()
        }
    }

    /// Nobody is asked about it, and no peer makes way for it.
    @Test func anOfferOfNoUseIsIgnored() throws {
        let server = try Server()
        let garbage = ["v=0", String(repeating: "x", count: 50_000), WebFixture.offer.replacing("VP8", with: "H264")]
        let offers = (garbage + [WebFixture.offer]).map { RoomMessage.offer(sdp: $0) }
        let stranger = try Stranger(of: server, saying: offers)
        defer { stranger.close() }
        let member = try Member(of: server, asks: true)
        try member.wait(for: "asks to look in")
        #expect(member.log.text.ranges(of: "an offer that cannot be answered").count == 3)
        #expect(member.log.text.ranges(of: "asks to look in").count == 1)
        #expect(member.log.text.utf8.count < 2000 && member.access.read(\.waiting).count == 1)
    }

    private final class Nobody: PeerDelegate {
        func peer(_ id: ParticipantID, signalled signal: Peer.Signal) {}
        func peer(_ id: ParticipantID, sent frame: ReceivedFrame) {}
        func peer(_ id: ParticipantID, said packet: ReceivedSound) {}
    }

    /// Each offer is a peer, which costs memory and packets.
    @Test func offersWithoutEndMakeFewPeers() throws {
        let server = try Server()
        let offers = Array(repeating: RoomMessage.offer(sdp: WebFixture.offer), count: 30)
        let stranger = try Stranger(of: server, saying: offers)
        defer { stranger.close() }
        let member = try Member(of: server)
        try member.wait(for: "more offers than one call needs")
        // The next one made is the twenty-first.
        let offer = try SessionDescription(parsing: WebFixture.offer)
        let agreement = try Negotiation(offer: offer, codecs: [[.vp8]]).agreement
        let id = Mutex<ParticipantID?>(nil)
        _ = member.peers.perform { loop in
            let peer = loop.add(agreement, at: "here", delegate: Nobody())
            id.withLock { $0 = peer?.id }
        }
        try wait(until: "it is made") { id.withLock { $0 != nil } }
        #expect(id.withLock(\.self) == 21)
    }

    /// A socket at an address that somebody names.
    private final class Target {
        let port: UInt16
        private let socket: UDPSocket
        private(set) var wasAsked = false

        init() throws {
            socket = try UDPSocket(family: AF_INET)
            port = try socket.localAddress().port
        }

        func look() throws {
            var buffer = [UInt8](repeating: 0, count: 2048)
            if try socket.receive(into: &buffer) != nil { wasAsked = true }
        }
    }

    /// Whoever asks when it was heard waits for an answer.
    @Test func aPeerThatHasSaidNothingIsThere() throws {
        let network = Self.network()
        defer { network.close() }
        let host = CallHost(name: "room+http://h/tea", network, access: AccessControl()) { _ in }
        let peer = PeerConnection(try network.peers(), PeerConnection.Other(place: "here"), in: host) { _, _ in }
        peer.answer(WebFixture.offer)
        let isSilent = Mutex(false)
        try wait(until: "it is told") {
            peer.askWhenHeard { instant in isSilent.withLock { $0 = instant == nil } }
            return isSilent.withLock(\.self)
        }
        peer.close()
    }

    /// Each candidate costs packets to an address that the other side names.
    @Test func ofManyCandidatesFewAreTried() throws {
        let network = Self.network()
        defer { network.close() }
        let targets = try (0..<100).map { _ in try Target() }
        let host = CallHost(name: "room+http://h/tea", network, access: AccessControl()) { _ in }
        let peer = PeerConnection(try network.peers(), PeerConnection.Other(place: "here"), in: host) { _, _ in }
        peer.answer(WebFixture.offer)
        for (index, target) in targets.enumerated() {
            let priority = 2_130_706_431 - index
            peer.add(candidate: "candidate:\(index) 1 udp \(priority) 127.0.0.1 \(target.port) typ host")
        }
        func asked() throws -> Int {
            for target in targets { try target.look() }
            return targets.count(where: \.wasAsked)
        }
        try wait(until: "those that are tried are asked") { try asked() >= 64 }
        // What would come beyond them comes no later.
        MonotonicClock.sleep(for: .seconds(1))
        #expect(try asked() == 64)
        peer.close()
    }
}

/// Takes pictures of which there are none.
final class UnseenPictures: FrameReceiver {
    func begin(_ requestKeyframe: @escaping @Sendable () -> Void) {}
    func receive(_ frame: ReceivedFrame) {}
    func end() {}
}
