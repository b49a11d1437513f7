import JSON
import Pairing

/// A frame of an authenticated link between pairs: a type, and a body. Numbers are big-endian. Each is one binary message of the WebSocket.
///
/// ```
/// 20 MESSAGE  id u32 | JSON              a line, and parameters
/// 21 ACK      id u32 | status u8         0 shown, 1 not allowed, 2 nobody reads
/// 30 OFFER    id u32 | size u64 | modified u64 | name
/// 31 TAKE     id u32 | offset u64        from there on; 2⁶⁴-1 for not at all
/// 32 DATA     id u32 | offset u64 | bytes
/// 33 CREDIT   id u32 | bytes u32         may be sent beyond what was allowed before
/// 34 DONE     id u32 | hash 32           of the whole file
/// 35 RESULT   id u32 | status u8
/// 36 CANCEL   id u32
/// 40 OPEN     id u32 | label             a stream of bytes
/// 41 BYTES    id u32 | bytes
/// 42 ROOM     id u32 | bytes u32         as CREDIT
/// 43 CLOSE    id u32 | status u8
/// 50 INVITE   call 16 | seconds u8 | note
/// 51 RINGING  call 16
/// 52 ACCEPT   call 16
/// 53 REJECT   call 16 | reason u8
/// 54 WITHDRAW call 16 | reason u8
/// 55 SIGNAL   call 16 | JSON             an offer, an answer, candidates
/// 56 END      call 16 | reason u8 | JSON
/// 57 STATE    phase u8 | call 16         0 alone if there is none
/// 60 UNPAIR
/// 61 KEY      32 | port u16              by which announcements are recognised from now on; where links are taken, or 0
/// ```
package enum LinkFrame: Equatable, Sendable {
    case message(id: UInt32, json: String)
    case ack(id: UInt32, Receipt)
    case offer(id: UInt32, FileOffer)
    /// - offset: nil to refuse the file.
    case take(id: UInt32, offset: UInt64?)
    case data(id: UInt32, offset: UInt64, [UInt8])
    case credit(id: UInt32, bytes: UInt32)
    case done(id: UInt32, hash: [UInt8])
    case result(id: UInt32, status: UInt8)
    case cancel(id: UInt32)
    case open(id: UInt32, label: String)
    case bytes(id: UInt32, [UInt8])
    case room(id: UInt32, bytes: UInt32)
    case close(id: UInt32, status: UInt8)
    case call(CallMessage)
    case signal(CallID, json: String)
    case unpair
    /// - port: where the device takes links, at the address of this one; 0 if it takes none.
    case key([UInt8], port: UInt16)

    /// What became of a line.
    package enum Receipt: UInt8, Sendable, CaseIterable {
        case shown
        case notAllowed
        case unread
    }

    package struct FileOffer: Equatable, Sendable {
        package let size: UInt64
        /// Seconds since 1970.
        package let modified: UInt64
        /// As the other side calls it; anything may be in it.
        package let name: String

        package init(size: UInt64, modified: UInt64, name: String) {
            (self.size, self.modified, self.name) = (size, modified, name)
        }
    }

    /// Of the data in a frame, and of JSON, in bytes.
    package static let mostData = 65_536
    /// Of a note, a label and a file's name, in UTF-8.
    package static let longestText = 4096
    package static let longest = 1 + CallID.length + 1 + mostData
    package static let hashLength = 32

    private enum Kind: UInt8 {
        case message = 0x20, ack
        case offer = 0x30, take, data, credit, done, result, cancel
        case open = 0x40, bytes, room, close
        case invite = 0x50, ringing, accept, reject, withdraw, signal, end, state
        case unpair = 0x60, key
    }

    // MARK: - Writing

    package var bytes: [UInt8] {
        switch self {
        case .message(let id, let json): Self.frame(.message, id.octets, Array(json.utf8))
        case .ack(let id, let receipt): Self.frame(.ack, id.octets, [receipt.rawValue])
        case .offer(let id, let file):
            Self.frame(.offer, id.octets, file.size.octets, file.modified.octets, Array(file.name.utf8))
        case .take(let id, let offset): Self.frame(.take, id.octets, (offset ?? .max).octets)
        case .data(let id, let offset, let bytes): Self.frame(.data, id.octets, offset.octets, bytes)
        case .credit(let id, let bytes): Self.frame(.credit, id.octets, bytes.octets)
        case .done(let id, let hash): Self.frame(.done, id.octets, hash)
        case .result(let id, let status): Self.frame(.result, id.octets, [status])
        case .cancel(let id): Self.frame(.cancel, id.octets)
        case .open(let id, let label): Self.frame(.open, id.octets, Array(label.utf8))
        case .bytes(let id, let bytes): Self.frame(.bytes, id.octets, bytes)
        case .room(let id, let bytes): Self.frame(.room, id.octets, bytes.octets)
        case .close(let id, let status): Self.frame(.close, id.octets, [status])
        case .call(let message): Self.bytes(of: message)
        case .signal(let call, let json): Self.frame(.signal, call.bytes, Array(json.utf8))
        case .unpair: Self.frame(.unpair)
        case .key(let key, let port): Self.frame(.key, key, port.octets)
        }
    }

    private static func bytes(of message: CallMessage) -> [UInt8] {
        switch message {
        case .invite(let id, let note, let seconds):
            frame(.invite, id.bytes, [UInt8(clamping: seconds)], Array(note.utf8))
        case .ringing(let id): frame(.ringing, id.bytes)
        case .accept(let id): frame(.accept, id.bytes)
        case .reject(let id, let reason): frame(.reject, id.bytes, [reason.rawValue])
        case .cancel(let id, let reason): frame(.withdraw, id.bytes, [reason.rawValue])
        case .end(let id, let reason, let parameters):
            // Texts can always be encoded.
            frame(.end, id.bytes, [reason.rawValue], Array(try! parameters.jsonLine().utf8))
        case .state(let standing): frame(.state, [standing?.phase.rawValue ?? 0], standing?.id.bytes ?? [])
        }
    }

    private static func frame(_ kind: Kind, _ body: [UInt8]...) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(body.reduce(1) { $0 + $1.count })
        bytes.append(kind.rawValue)
        for part in body { bytes += part }
        return bytes
    }

    // MARK: - Reading

    /// - Returns: nil if the bytes are not a frame, or too many.
    package init?(_ bytes: some Collection<UInt8>) {
        guard bytes.count <= Self.longest else { return nil }
        var rest = Array(bytes)[...]
        guard let kind = rest.popFirst().flatMap(Kind.init), let frame = Self.read(kind, &rest), rest.isEmpty else {
            return nil
        }
        self = frame
    }

    private static func read(_ kind: Kind, _ rest: inout ArraySlice<UInt8>) -> LinkFrame? {
        switch kind {
        case .invite, .ringing, .accept, .reject, .withdraw, .end, .state:
            return readCall(kind, &rest).map { .call($0) }
        case .signal:
            guard let call = rest.takeCall(), let json = rest.takeText(mostData) else { return nil }
            return .signal(call, json: json)
        case .unpair: return .unpair
        case .key:
            guard let key = rest.take(PairingFrame.keyLength), let port: UInt16 = rest.takeNumber() else { return nil }
            return .key(key, port: port)
        default: break
        }
        guard let id: UInt32 = rest.takeNumber() else { return nil }
        switch kind {
        case .message: return rest.takeText(mostData).map { .message(id: id, json: $0) }
        case .ack: return rest.popFirst().flatMap(Receipt.init).map { .ack(id: id, $0) }
        case .offer:
            guard let size: UInt64 = rest.takeNumber(), let modified: UInt64 = rest.takeNumber(),
                let name = rest.takeText(longestText)
            else { return nil }
            return .offer(id: id, FileOffer(size: size, modified: modified, name: name))
        case .take: return rest.takeNumber().map { .take(id: id, offset: $0 == UInt64.max ? nil : $0) }
        case .data:
            guard let offset: UInt64 = rest.takeNumber(), let bytes = rest.takeRest(mostData) else { return nil }
            return .data(id: id, offset: offset, bytes)
        case .credit: return rest.takeNumber().map { .credit(id: id, bytes: $0) }
        case .done: return rest.take(hashLength).map { .done(id: id, hash: $0) }
        case .result: return rest.popFirst().map { .result(id: id, status: $0) }
        case .cancel: return .cancel(id: id)
        case .open: return rest.takeText(longestText).map { .open(id: id, label: $0) }
        case .bytes: return rest.takeRest(mostData).map { .bytes(id: id, $0) }
        case .room: return rest.takeNumber().map { .room(id: id, bytes: $0) }
        case .close: return rest.popFirst().map { .close(id: id, status: $0) }
        default: return nil
        }
    }

    private static func readCall(_ kind: Kind, _ rest: inout ArraySlice<UInt8>) -> CallMessage? {
        if kind == .state {
            guard let number = rest.popFirst() else { return nil }
            if number == 0 { return .state(nil) }
            guard let phase = CallPhase(rawValue: number), let call = rest.takeCall() else { return nil }
            return .state(CallStanding(call, phase))
        }
        guard let call = rest.takeCall() else { return nil }
        // A reason of a later version is some failure.
        func reason() -> CallEnd? { rest.popFirst().map { CallEnd(rawValue: $0) ?? .failed } }
        switch kind {
        case .invite:
            guard let seconds = rest.popFirst(), let note = rest.takeText(longestText) else { return nil }
            return .invite(call, note: note, seconds: Int(seconds))
        case .ringing: return .ringing(call)
        case .accept: return .accept(call)
        case .reject: return reason().map { .reject(call, $0) }
        case .withdraw: return reason().map { .cancel(call, $0) }
        case .end:
            guard let reason = reason(), let json = rest.takeText(mostData) else { return nil }
            // A call ends whatever is said of it.
            return .end(call, reason, parameters: (try? [String: String](jsonLine: json)) ?? [:])
        default: return nil
        }
    }
}

extension FixedWidthInteger {
    fileprivate var octets: [UInt8] {
        stride(from: Self.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: self >> $0) }
    }
}

extension ArraySlice<UInt8> {
    fileprivate mutating func take(_ count: Int) -> [UInt8]? {
        guard self.count >= count else { return nil }
        defer { self = dropFirst(count) }
        return Array(prefix(count))
    }

    fileprivate mutating func takeNumber<Number: FixedWidthInteger>() -> Number? {
        take(Number.bitWidth / 8).map { $0.reduce(0) { $0 << 8 | Number($1) } }
    }

    fileprivate mutating func takeCall() -> CallID? { take(CallID.length).flatMap { CallID(bytes: $0) } }

    /// All that is left, if that is not longer than `most`.
    fileprivate mutating func takeRest(_ most: Int) -> [UInt8]? { count > most ? nil : take(count) }

    fileprivate mutating func takeText(_ most: Int) -> String? {
        takeRest(most).flatMap { String(validating: $0, as: UTF8.self) }
    }
}
