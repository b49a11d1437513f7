package import JSON

/// A packet of Socket.IO, revision 5 (socketio/socket.io-protocol).
package struct SocketPacket: Sendable, Equatable {
    package enum Kind: UInt8, Sendable {
        case connect, disconnect, event, acknowledgement, connectError, binaryEvent, binaryAcknowledgement
    }

    package static let mostAttachments = 10

    /// Binary kinds are events and acknowledgements with attachments.
    package var kind: Kind
    /// It begins with a slash.
    package var namespace = "/"
    /// The number by which an event is acknowledged.
    package var id: UInt64?
    /// For an event its name and arguments, for an acknowledgement its arguments, otherwise an object; nil for nothing.
    /// Attachments have placeholders there.
    package var data: JSONText?
    package var attachments: [[UInt8]] = []

    package init(
        _ kind: Kind,
        in namespace: String = "/",
        id: UInt64? = nil,
        data: JSONText? = nil,
        attachments: [[UInt8]] = []
    ) {
        (self.kind, self.namespace, self.id, self.data) = (kind, namespace, id, data)
        self.attachments = attachments
    }

    /// An event with arguments.
    package static func event(_ name: String, _ arguments: [JSONText]) -> SocketPacket {
        SocketPacket(.event, data: JSONText(array: [JSONText(string: name)] + arguments))
    }

    /// The answer to an event with an id.
    package static func acknowledgement(of id: UInt64, _ arguments: [JSONText]) -> SocketPacket {
        SocketPacket(.acknowledgement, id: id, data: JSONText(array: arguments))
    }

    /// The packet as messages of Engine.IO: one of text, and one for each attachment.
    package var messages: [EngineMessage] {
        var text = Array("\(kind.rawValue)".utf8)
        if !attachments.isEmpty { text += Array("\(attachments.count)-".utf8) }
        if namespace != "/" { text += Array("\(namespace),".utf8) }
        if let id { text += Array("\(id)".utf8) }
        if let data { text += data.bytes }
        return [.text(text)] + attachments.map(EngineMessage.binary)
    }
}

/// Assembles packets from the messages of one session.
package struct SocketPacketReader: Sendable {
    package enum Outcome: Sendable, Equatable {
        case packet(SocketPacket)
        /// Attachments are missing.
        case incomplete
        /// Nothing after it can be understood.
        case invalid
    }

    private var packet: SocketPacket?
    private var missing = 0
    /// Bytes kept of a packet with missing attachments.
    private(set) var size = 0

    package init() {}

    /// - Parameter sizeLimit: bytes of all attachments of a packet.
    package mutating func read(_ message: EngineMessage, sizeLimit: Int) -> Outcome {
        switch message {
        case .text(let text):
            guard packet == nil, let (head, count) = Self.head(text) else { return .invalid }
            if count == 0 { return .packet(head) }
            (packet, missing, size) = (head, count, text.count)
            return .incomplete
        case .binary(let bytes):
            guard var packet else { return .invalid }
            self.packet = nil
            packet.attachments.append(bytes)
            missing -= 1
            guard packet.attachments.reduce(0, { $0 + $1.count }) <= sizeLimit else { return .invalid }
            if missing == 0 {
                size = 0
                return .packet(packet)
            }
            self.packet = packet
            size += bytes.count
            return .incomplete
        }
    }

    /// The packet of a text without its attachments, and their number; nil if the text is none.
    private static func head(_ text: [UInt8]) -> (SocketPacket, Int)? {
        guard String(validating: text, as: UTF8.self) != nil, let digit = text.first,
            let kind = SocketPacket.Kind(rawValue: digit &- UInt8(ascii: "0"))
        else { return nil }
        var rest = text[1...]
        var packet = SocketPacket(kind)
        var count = 0
        if kind == .binaryEvent || kind == .binaryAcknowledgement {
            guard let number = takeNumber(&rest), 1...UInt64(SocketPacket.mostAttachments) ~= number,
                rest.popFirst() == UInt8(ascii: "-")
            else { return nil }
            count = Int(number)
        }
        if rest.first == UInt8(ascii: "/") {
            let namespace = rest.prefix { $0 != UInt8(ascii: ",") }
            rest = rest.dropFirst(namespace.count + 1)
            // The query of a namespace has no use.
            packet.namespace = String(decoding: namespace.prefix { $0 != UInt8(ascii: "?") }, as: UTF8.self)
        }
        if rest.first.map({ UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }) ?? false {
            guard let id = takeNumber(&rest) else { return nil }
            packet.id = id
        }
        if !rest.isEmpty {
            guard let data = JSONText(rest) else { return nil }
            packet.data = data
        }
        return isInOrder(packet) ? (packet, count) : nil
    }

    private static func takeNumber(_ text: inout ArraySlice<UInt8>) -> UInt64? {
        let digits = text.prefix { UInt8(ascii: "0")...UInt8(ascii: "9") ~= $0 }
        text = text.dropFirst(digits.count)
        return UInt64(String(decoding: digits, as: UTF8.self))
    }

    /// Names of events about the connection itself. Nobody sends them.
    private static let reservedNames: Set<String> = [
        "connect", "connect_error", "disconnect", "disconnecting", "newListener", "removeListener",
    ]

    private static func isInOrder(_ packet: SocketPacket) -> Bool {
        switch packet.kind {
        case .connect: packet.data?.isObject ?? true
        case .disconnect: packet.data == nil
        case .connectError: packet.data.map { $0.isObject || $0.string != nil } ?? false
        case .event, .binaryEvent:
            packet.data?.elements?.first.map { name in
                name.isNumber || name.string.map { !reservedNames.contains($0) } ?? false
            } ?? false
        case .acknowledgement, .binaryAcknowledgement: packet.id != nil && packet.data?.elements != nil
        }
    }
}
