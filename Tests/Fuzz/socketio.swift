import JSON
import SocketIO
import Time

/// What a peer sends by Engine.IO and Socket.IO: to a session of a server, to a client, and as JSON. The first byte chooses.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    guard let kind = bytes.first else { return 0 }
    let pieces = bytes.dropFirst().split(separator: 0, omittingEmptySubsequences: false).map(Array.init)
    let now = Instant(nanoseconds: 1 << 40)
    switch kind % 4 {
    case 0:
        var session = EngineSession(sid: "s", settings: .init(), poll: 0, now: now)
        session.open(socket: 9, now: now)
        for (index, piece) in pieces.enumerated() {
            switch index % 4 {
            case 0: _ = session.post(piece, now: now)
            case 1: session.poll(UInt64(index))
            default: session.receive(.text(piece), on: 9, now: now)
            }
        }
        _ = session.takeOutputs()
        precondition(session.isEnded == (session.nextDeadline == nil))
    case 1:
        var client = SocketClient(jitter: 1, now: now)
        if kind >= 128 { client.change(now: now) { $0.socketFailed() } }
        for piece in pieces {
            client.change(now: now) { $0.receive(.text(piece), now: now) }
            client.change(now: now) { $0.getAnswered(status: 200, piece, now: now) }
            client.change(now: now) { $0.receive(.binary(piece), now: now) }
        }
        _ = client.takeOutputs()
    case 2:
        var reader = SocketPacketReader()
        for piece in pieces {
            guard case .packet(let packet) = reader.read(.text(piece), sizeLimit: 1000) else { continue }
            var other = SocketPacketReader()
            precondition(packet.messages.map { other.read($0, sizeLimit: 1000) }.last == .packet(packet))
        }
    default:
        guard let json = JSONText(bytes.dropFirst()) else { return 0 }
        precondition(JSONText(json.bytes) == json)
        if let string = json.string { precondition(JSONText(string: string).string == string) }
        if let elements = json.elements { precondition(JSONText(array: elements).elements == elements) }
        _ = json.members
    }
    return 0
}
