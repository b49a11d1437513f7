import SocketIO
import TestSupport
import Time
import WebRTC

@testable import Calls

/// Members of one room and its server, without a network, in virtual time. What one says, the others hear at once. Of the peers
/// there is nothing but that they connect once an offer is answered.
struct RoomMeeting {
    struct Member {
        var session: RoomSession
        /// Of its connection to the server.
        var id = ""
        var isConnected = false
        /// Nothing that happens afterwards concerns it.
        var isOver = false
        /// Its certificate; it shows another one than it names if it cheats.
        var certificate: UInt8
        /// What a person would be told, or do, in order.
        var told: [RoomSession.Output] = []
    }

    var server: RoomServer
    var members: [Member] = []
    var now = Instant.seconds(100)
    /// When a member's peer was heard, if it is asked.
    var isHeard = true
    /// Certificates that are known to those who ask.
    var known: [Fingerprint] = []
    private var connections = 0
    private var rest: [(member: Int, RoomSession.Output)] = []
    private var isActing = false

    init(capacity: Int = 2) {
        var limits = RoomServer.Limits()
        limits.capacity = capacity
        server = RoomServer(limits: limits)
    }

    /// A member comes. Returns its number.
    ///
    /// - Parameter cheats: whether it has another certificate than it names.
    @discardableResult
    mutating func add(
        name: String? = "",
        note: String = "",
        asks: Bool = false,
        receives: Bool = true,
        cheats: Bool = false
    ) -> Int {
        var introduction = RoomIntroduction()
        (introduction.name, introduction.note) = (name, note)
        (introduction.asks, introduction.receives) = (asks, receives)
        let number = members.count
        introduction.fingerprint = Self.fingerprint(UInt8(number))
        let session = RoomSession(room: "r", introduction)
        members.append(Member(session: session, certificate: cheats ? 99 : UInt8(number)))
        connect(number)
        return number
    }

    mutating func connect(_ member: Int) {
        connections += 1
        members[member].id = "\(member)-\(connections)"
        server.connected(members[member].id, nil)
        change(member) { session, _ in session.connected() }
    }

    /// A member's connection to the server is cut; it notices.
    mutating func cut(_ member: Int) {
        server.disconnected(members[member].id)
        members[member].id = ""
        change(member) { session, now in session.lost(now: now) }
        deliver()
    }

    /// A member's process dies.
    mutating func kill(_ member: Int) {
        server.disconnected(members[member].id)
        members[member].id = ""
        deliver()
    }

    mutating func say(_ message: RoomMessage, by member: Int) {
        server.received(RoomEvent.message(room: "r", message.data).packet(), from: members[member].id)
        deliver()
    }

    mutating func change(_ member: Int, _ body: (inout RoomSession, Instant) -> Void) {
        body(&members[member].session, now)
        act()
    }

    mutating func wait(_ duration: Duration) {
        let end = now + duration
        while let next = members.indices.compactMap({ members[$0].session.nextDeadline }).min(), next <= end {
            now = max(now, next)
            for member in members.indices { change(member) { session, now in session.tick(now: now) } }
        }
        now = end
    }

    func told(_ member: Int) -> [RoomSession.Output] { members[member].told }

    static func fingerprint(_ certificate: UInt8) -> Fingerprint {
        Fingerprint(.sha256, Array(repeating: certificate, count: 32))
    }

    static func sdp(_ certificate: UInt8) -> String {
        "v=0\r\na=ice-ufrag:abcd\r\na=fingerprint:\(fingerprint(certificate))\r\n"
    }

    // MARK: - Between them

    private mutating func act() {
        take()
        guard !isActing else { return }
        isActing = true
        while !rest.isEmpty {
            let (member, output) = rest.removeFirst()
            if !members[member].isOver { perform(output, of: member) }
            take()
        }
        isActing = false
    }

    private mutating func take() {
        for member in members.indices {
            for output in members[member].session.takeOutputs() { rest.append((member, output)) }
        }
    }

    private mutating func perform(_ output: RoomSession.Output, of member: Int) {
        switch output {
        case .emit(let event):
            server.received(event.packet(), from: members[member].id)
            deliver()
        case .closePeer: closePeer(of: member)
        case .offer, .acceptOffer:
            change(member) { [certificate = members[member].certificate] session, _ in
                session.described(Self.sdp(certificate))
            }
        case .acceptAnswer:
            let two = members.indices.filter { members[$0].session.isConnected }
            for member in two { members[member].isConnected = true }
            for member in two { change(member) { session, _ in session.peerConnected() } }
        case .listen:
            if isHeard { change(member) { session, now in session.heard(at: now) } }
        case .ended:
            members[member].told.append(output)
            members[member].isOver = true
            closePeer(of: member)
            kill(member)
        case .recognize(let certificate):
            if known.contains(where: { $0 == certificate }) { change(member) { session, _ in session.recognized() } }
        case .ask, .askNoMore, .skipSound, .waiting, .pointless, .parted, .turnedAway:
            members[member].told.append(output)
        case .addCandidate, .ignored: break
        }
    }

    /// The others hear of it by the media.
    private mutating func closePeer(of member: Int) {
        guard members[member].isConnected else { return }
        members[member].isConnected = false
        for other in members.indices where other != member && members[other].isConnected {
            members[other].isConnected = false
            // What it has closed itself tells it nothing.
            guard members[other].session.isConnected else { continue }
            change(other) { session, now in session.peerEnded(.hungUp, "left", isFinal: false, now: now) }
        }
    }

    private mutating func deliver() {
        for output in server.takeOutputs() {
            switch output {
            case .send(let event, let client): tell(client, event)
            case .relay(let packet, let client): if let event = RoomEvent(packet) { tell(client, event) }
            case .disconnect, .ignored: break
            }
        }
        act()
    }

    private mutating func tell(_ client: String, _ event: RoomEvent) {
        guard let member = members.firstIndex(where: { $0.id == client }) else { return }
        members[member].session.received(event, now: now)
        take()
    }
}
