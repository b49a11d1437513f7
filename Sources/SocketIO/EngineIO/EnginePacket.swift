import FoundationEssentials
import JSON

/// A packet of Engine.IO, revision 4 (socketio/engine.io-protocol).
package enum EnginePacket: Sendable, Equatable {
    case open(EngineHandshake)
    case close
    /// Asks the client for a sign of life. With data from the peer, it probes a transport.
    case ping([UInt8])
    case pong([UInt8])
    case message(EngineMessage)
    case upgrade
    case noop

    /// The data of `ping` and `pong` that probe a transport before it takes over.
    package static let probe = Array("probe".utf8)

    /// A packet from one frame of a WebSocket; nil if the frame is none.
    package init?(frame: EngineMessage) {
        switch frame {
        case .binary: self = .message(frame)
        case .text(let text): self.init(text: text[...])
        }
    }

    /// A packet from text; nil if the text is none.
    fileprivate init?(text: ArraySlice<UInt8>) {
        let rest = Array(text.dropFirst())
        switch text.first.map({ $0 &- UInt8(ascii: "0") }) {
        case 0:
            guard let handshake = EngineHandshake(rest) else { return nil }
            self = .open(handshake)
        case 1: self = .close
        case 2: self = .ping(rest)
        case 3: self = .pong(rest)
        case 4: self = .message(.text(rest))
        case 5: self = .upgrade
        case 6: self = .noop
        default: return nil
        }
    }

    /// The packet as one frame of a WebSocket.
    package var frame: EngineMessage {
        let (kind, rest): (String, [UInt8])
        switch self {
        case .open(let handshake): (kind, rest) = ("0", handshake.json)
        case .close: (kind, rest) = ("1", [])
        case .ping(let word): (kind, rest) = ("2", word)
        case .pong(let word): (kind, rest) = ("3", word)
        case .message(.text(let text)): (kind, rest) = ("4", text)
        case .message(.binary(let bytes)): return .binary(bytes)
        case .upgrade: (kind, rest) = ("5", [])
        case .noop: (kind, rest) = ("6", [])
        }
        return .text(Array(kind.utf8) + rest)
    }

    /// Whether a client sends such packets in an open session.
    var isOfClient: Bool {
        switch self {
        case .message, .pong, .close: true
        case .open, .ping, .upgrade, .noop: false
        }
    }
}

/// A message between users of Engine.IO: text in UTF-8, or bytes. A frame of a WebSocket is the same.
package enum EngineMessage: Sendable, Equatable {
    case text([UInt8])
    case binary([UInt8])

    package var size: Int {
        switch self {
        case .text(let bytes), .binary(let bytes): bytes.count
        }
    }
}

/// The server's description of a session that it opens.
package struct EngineHandshake: Sendable, Equatable, Encodable {
    package var sid: String
    /// Transports to which the session may upgrade.
    package var upgrades: [String]
    /// The interval of the server's pings, and how long it waits for the answer, in milliseconds.
    package var pingInterval: Int
    package var pingTimeout: Int
    /// Bytes of the body of a request; nil if the server does not say.
    package var maxPayload: Int?
}

extension EngineHandshake {
    /// Nil if the text is no handshake, or its times are not between 1 ms and 1 day.
    fileprivate init?(_ text: [UInt8]) {
        let json = JSONText(text)
        guard let sid = json?["sid"]?.string, !sid.isEmpty, let upgrades = json?["upgrades"]?.elements,
            let interval = json?["pingInterval"]?.integer, let timeout = json?["pingTimeout"]?.integer,
            1...86_400_000 ~= interval, 1...86_400_000 ~= timeout
        else { return nil }
        self.init(
            sid: sid,
            upgrades: upgrades.compactMap(\.string),
            pingInterval: interval,
            pingTimeout: timeout,
            maxPayload: json?["maxPayload"]?.integer
        )
    }

    fileprivate var json: [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return Array((try? encoder.encode(self)) ?? Data())
    }
}

/// Packets in the body of an HTTP request or response.
package enum EnginePayload {
    private static let separator: UInt8 = 0x1E
    private static let binaryMark = UInt8(ascii: "b")

    /// The number of packets in a body, if it holds packets.
    static func packetCount(of body: [UInt8]) -> Int { body.reduce(1) { $1 == separator ? $0 + 1 : $0 } }

    /// The packets of a body, at least one; nil for any other body.
    package static func packets(of body: [UInt8]) -> [EnginePacket]? {
        guard String(validating: body, as: UTF8.self) != nil else { return nil }
        var packets: [EnginePacket] = []
        for piece in body.split(separator: separator, omittingEmptySubsequences: false) {
            if piece.first == binaryMark {
                guard let bytes = Data(base64Encoded: Data(piece.dropFirst())) else { return nil }
                packets.append(.message(.binary(Array(bytes))))
            } else {
                guard let packet = EnginePacket(text: piece) else { return nil }
                packets.append(packet)
            }
        }
        return packets
    }

    package static func body(of packets: some Sequence<EnginePacket>) -> [UInt8] {
        Array(packets.map(piece).joined(separator: [separator]))
    }

    /// The bytes that a packet takes in a body, without the separator.
    package static func size(of packet: EnginePacket) -> Int {
        if case .message(.binary(let bytes)) = packet { return 1 + (bytes.count + 2) / 3 * 4 }
        return packet.frame.size
    }

    private static func piece(of packet: EnginePacket) -> [UInt8] {
        switch packet.frame {
        case .text(let text): text
        case .binary(let bytes): [binaryMark] + Array(Data(bytes).base64EncodedData())
        }
    }
}
