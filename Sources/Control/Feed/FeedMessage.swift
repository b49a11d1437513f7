import JSON
package import Media
package import Time

/// A message from a sender to a recorder that has subscribed: the sender's encoded pictures and sound, and what may be kept of them.
///
/// Each has a head of 40 bytes, little-endian, and maybe content after it:
///
/// | bytes | of all | of a picture |
/// |---|---|---|
/// | 0 | `O` | |
/// | 1 | kind | |
/// | 2 | | codec |
/// | 3 | | 1 for a keyframe |
/// | 4…7 | bytes of the content | |
/// | 8…15 | an instant (sound, change, horizon, pause, question), in ns | when it is shown |
/// | 16…23 | a number | when it left the screen |
/// | 24…27 | columns and rows of tiles (change) | width and height |
package enum FeedMessage: Sendable, Equatable {
    /// The first one.
    ///
    /// - `offersSound`: whether the broadcast has sound.
    case begin(version: UInt8, offersSound: Bool)
    case picture(FeedPicture, [UInt8])
    /// A packet of Opus, 20 ms in two channels, and when its first sample was heard.
    case sound([UInt8], at: Instant)
    /// The screen has changed, by something else than the pointer. It comes before the pictures that show it.
    case changed(TileChange, at: Instant)
    /// Nothing that was captured before may be shown any more.
    case horizon(Instant)
    /// The broadcast has been paused, or not any more, since an instant.
    case paused(Bool, since: Instant)
    /// The recorder was too slow, so that this many pictures were dropped. The next one is a keyframe.
    case dropped(Int)
    /// A viewer's command, which the recorder answers with a `FeedAnswer` of this number, but no more after an instant.
    case question(RecorderRequest, number: UInt64, until: Instant)

    package static let version: UInt8 = 1
    package static let headLength = 40
    /// Bytes of the longest picture and packet.
    package static let longestPicture = 32 << 20
    package static let longestPacket = 4096

    fileprivate static let magic = UInt8(ascii: "O")

    fileprivate enum Kind: UInt8 {
        case begin = 1
        case picture, sound, horizon, paused, dropped, changed, question
    }
}

/// The description of an encoded picture.
package struct FeedPicture: Sendable, Equatable {
    package let codec: VideoCodec
    package let isKeyframe: Bool
    package let width: UInt16
    package let height: UInt16
    /// The presentation time, which moves on while the screen stands still.
    package let shownAt: Instant
    package let captureTime: Instant

    package init(
        codec: VideoCodec,
        isKeyframe: Bool,
        width: UInt16,
        height: UInt16,
        shownAt: Instant,
        captureTime: Instant
    ) {
        (self.codec, self.isKeyframe, self.width, self.height) = (codec, isKeyframe, width, height)
        (self.shownAt, self.captureTime) = (shownAt, captureTime)
    }
}

// MARK: - Bytes

extension FeedMessage {
    /// The head of a message whose content has this number of bytes.
    package var head: [UInt8] {
        var head = Head()
        switch self {
        case .begin(let version, let offersSound):
            head.kind = .begin
            head.number = UInt64(version) | (offersSound ? 1 << 8 : 0)
        case .picture(let picture, let bytes):
            head.kind = .picture
            head.codec = picture.codec.feedNumber
            head.flags = picture.isKeyframe ? 1 : 0
            head.count = UInt32(bytes.count)
            (head.instant, head.number) = (picture.shownAt.nanoseconds, picture.captureTime.nanoseconds)
            head.size = (picture.width, picture.height)
        case .sound(let packet, let instant):
            head.kind = .sound
            (head.count, head.instant) = (UInt32(packet.count), instant.nanoseconds)
        case .changed(let change, let instant):
            head.kind = .changed
            (head.count, head.instant) = (UInt32(change.bits.count), instant.nanoseconds)
            head.size = (UInt16(change.columns), UInt16(change.rows))
        case .horizon(let instant):
            head.kind = .horizon
            head.instant = instant.nanoseconds
        case .paused(let isPaused, let since):
            head.kind = .paused
            (head.number, head.instant) = (isPaused ? 1 : 0, since.nanoseconds)
        case .dropped(let count):
            head.kind = .dropped
            head.number = UInt64(count)
        case .question(_, let number, let deadline):
            head.kind = .question
            (head.count, head.number, head.instant) = (UInt32(content.count), number, deadline.nanoseconds)
        }
        return head.bytes
    }

    /// What follows the head.
    package var content: [UInt8] {
        switch self {
        case .picture(_, let bytes), .sound(let bytes, _): bytes
        case .changed(let change, _): change.bits
        // Numbers can always be encoded.
        case .question(let request, _, _): Array(try! request.jsonLine().utf8)
        case .begin, .horizon, .paused, .dropped: []
        }
    }

    fileprivate struct Head {
        var kind = Kind.begin
        var codec: UInt8 = 0
        var flags: UInt8 = 0
        var count: UInt32 = 0
        var instant: UInt64 = 0
        var number: UInt64 = 0
        var size: (width: UInt16, height: UInt16) = (0, 0)

        init() {}

        var bytes: [UInt8] {
            var bytes = [magic, kind.rawValue, codec, flags]
            func append(_ value: UInt64, _ count: Int) {
                for index in 0..<count { bytes.append(UInt8(truncatingIfNeeded: value >> (8 * index))) }
            }
            append(UInt64(count), 4)
            append(instant, 8)
            append(number, 8)
            append(UInt64(size.width), 2)
            append(UInt64(size.height), 2)
            append(0, headLength - bytes.count)
            return bytes
        }

        /// Nil for bytes that no sender sends.
        init?(_ bytes: ArraySlice<UInt8>) {
            func value(_ offset: Int, _ count: Int) -> UInt64 {
                bytes.dropFirst(offset).prefix(count).reversed().reduce(0) { $0 << 8 | UInt64($1) }
            }
            guard bytes.first == magic, let kind = Kind(rawValue: UInt8(value(1, 1))) else { return nil }
            self.kind = kind
            (codec, flags) = (UInt8(value(2, 1)), UInt8(value(3, 1)))
            count = UInt32(value(4, 4))
            (instant, number) = (value(8, 8), value(16, 8))
            size = (UInt16(value(24, 2)), UInt16(value(26, 2)))
        }

        /// Bytes of the longest content.
        var limit: Int {
            switch kind {
            case .picture: longestPicture
            case .sound: longestPacket
            case .changed: TileChange.mostBytes
            case .question: RecorderRequest.limit
            case .begin, .horizon, .paused, .dropped: 0
            }
        }

        /// Nil if it makes no sense.
        func message(_ content: [UInt8]) -> FeedMessage? {
            let at = Instant(nanoseconds: instant)
            switch kind {
            case .begin: return .begin(version: UInt8(truncatingIfNeeded: number), offersSound: number >> 8 & 1 == 1)
            case .picture:
                guard let codec = VideoCodec(feedNumber: codec), size.width > 0, size.height > 0, !content.isEmpty
                else { return nil }
                let picture = FeedPicture(
                    codec: codec,
                    isKeyframe: flags & 1 == 1,
                    width: size.width,
                    height: size.height,
                    shownAt: at,
                    captureTime: Instant(nanoseconds: number)
                )
                return .picture(picture, content)
            case .sound: return content.isEmpty ? nil : .sound(content, at: at)
            case .changed:
                let change = TileChange(columns: Int(size.width), rows: Int(size.height), bits: content)
                return change.map { .changed($0, at: at) }
            case .horizon: return .horizon(at)
            case .paused: return .paused(number == 1, since: at)
            case .dropped: return .dropped(Int(clamping: number))
            case .question:
                let request = try? RecorderRequest(jsonLine: String(decoding: content, as: UTF8.self))
                return request.map { .question($0, number: number, until: at) }
            }
        }
    }
}

extension VideoCodec {
    /// Stays as it is, as recorder and sender may be of different versions.
    fileprivate var feedNumber: UInt8 {
        switch self {
        case .vp8: 1
        case .vp9: 2
        case .av1: 3
        }
    }

    fileprivate init?(feedNumber: UInt8) {
        guard let codec = Self.allCases.first(where: { $0.feedNumber == feedNumber }) else { return nil }
        self = codec
    }
}

/// Takes the bytes of a sender apart. A sender that was taken over may send anything. Sans-IO.
package struct FeedDecoder {
    package struct Malformed: Error {}

    private var bytes: [UInt8] = []
    private var start = 0

    package init() {}

    package mutating func take(_ more: ArraySlice<UInt8>) {
        if start == bytes.count {
            bytes.removeAll(keepingCapacity: true)
            start = 0
        }
        bytes += more
    }

    /// The next message; nil if it has not come whole.
    ///
    /// - Throws: if the bytes are none of a sender. They cannot be read any further then.
    package mutating func next() throws(Malformed) -> FeedMessage? {
        let rest = bytes[start...]
        guard rest.count >= FeedMessage.headLength else { return nil }
        guard let head = FeedMessage.Head(rest.prefix(FeedMessage.headLength)), head.count <= head.limit else {
            throw Malformed()
        }
        let end = start + FeedMessage.headLength + Int(head.count)
        guard bytes.count >= end else { return nil }
        guard let message = head.message(Array(bytes[start + FeedMessage.headLength..<end])) else { throw Malformed() }
        start = end
        // What was read goes as soon as it is most of the memory.
        if start > 1 << 16, start * 2 > bytes.count {
            bytes.removeFirst(start)
            start = 0
        }
        return message
    }
}
