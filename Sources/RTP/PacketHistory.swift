package import Media
package import Time

/// The latest packets of one rendition or sound, without the parts that differ from peer to peer. Each stream reads at
/// its own place, and finds missed packets for a while.
///
/// Packets are numbered from 0. One thread uses a history and the streams that read it.
package final class PacketHistory {
    /// A frame as the encoder made it. It is cut into payloads only when they leave, so that its bytes are stored once.
    package final class Frame: Sendable {
        fileprivate let bytes: [UInt8]
        /// Nil for sound: each frame is one payload.
        fileprivate let fragments: PictureFragments?
        /// When the picture or the first sample was captured.
        package let capturedAt: Instant
        /// When the pixels were taken from the screen. Earlier than `capturedAt` for a picture that has stood still since.
        package let captureTime: Instant
        /// `capturedAt` in ticks of the RTP clock; later for each later frame.
        package let ticks: UInt64
        package let appendedAt: Instant
        /// Rises by one with each frame, and wraps.
        package let number: UInt16
        /// Bytes of all frames that were appended before this one.
        fileprivate let start: UInt64
        /// Width and height in pixels of a keyframe; nil for sound, and for a picture that depends on the one before.
        package let keyframe: (width: UInt16, height: UInt16)?
        /// Whether it is the first sound after a silence.
        let followsSilence: Bool

        fileprivate init(
            _ bytes: [UInt8],
            _ fragments: PictureFragments?,
            capturedAt: Instant,
            captureTime: Instant,
            keyframe: (width: UInt16, height: UInt16)?,
            now: Instant,
            in history: PacketHistory
        ) {
            self.bytes = bytes
            self.fragments = fragments
            self.capturedAt = capturedAt
            self.captureTime = captureTime
            self.keyframe = keyframe
            appendedAt = now
            ticks = max(RTPStream.ticks(capturedAt, history.codec.clockRate), history.lastTicks + 1)
            followsSilence = fragments == nil && ticks > history.lastTicks + UInt64(EncodedSound.samples)
            number = history.lastNumber &+ 1
            start = history.byteCount
        }
    }

    /// A part of a frame that fits into a packet.
    package struct Packet: Sendable {
        package let frame: Frame
        private let fragment: PictureFragments.Fragment
        /// Bytes of the payload: its descriptor and its part of the picture, or a packet of sound.
        package let payloadSize: Int

        fileprivate init(_ frame: Frame, _ fragment: PictureFragments.Fragment) {
            self.frame = frame
            self.fragment = fragment
            payloadSize = frame.fragments?.format.size(of: fragment) ?? frame.bytes.count
        }

        /// Where in the frame the packet begins. For AV1 it is approximate, as some bytes of a frame are not sent.
        fileprivate var offset: Int { min(fragment.range.lowerBound, frame.bytes.count) }

        /// The share of the frame before the packet, 0…1.
        var sentShare: Double { Double(offset) / Double(max(frame.bytes.count, 1)) }

        package var isFirst: Bool { fragment.isFirst }
        package var isLast: Bool { fragment.isLast }

        /// Appends the payload to a packet that holds its header.
        package func write(to packet: inout [UInt8]) {
            let bytes = frame.bytes
            guard let fragments = frame.fragments else { return packet.append(contentsOf: bytes) }
            fragments.format.write(fragment, of: bytes.span, to: &packet)
        }
    }

    /// The beginning of a frame that can be decoded alone: a keyframe, or any packet of sound.
    package struct Entry: Sendable, Equatable {
        package let index: UInt64
        package let appendedAt: Instant
    }

    /// The greatest age of a frame with which a stream may begin: the frames after it are sent in a burst.
    private static let entryLifetime = Duration.milliseconds(400)

    package let codec: StreamCodec
    /// Nil for sound: each frame is one payload.
    private var packetizer: VideoPacketizer?
    private let maximumPayloadSize: Int
    private var slots: [Packet] = []
    private var capacity: Int
    /// The packet that is, or was, in the first slot.
    private var origin: UInt64 = 0
    private var byteCount: UInt64 = 0
    private var lastTicks: UInt64 = 0
    private var lastNumber: UInt16 = 0
    /// The number of the packet after the newest.
    package private(set) var end: UInt64 = 0
    /// Packets before this one were forgotten.
    private var forgottenEnd: UInt64 = 0
    /// The newest entry, whether or not it is still there.
    package private(set) var entry: Entry?

    /// A history of sound.
    ///
    /// - Parameters:
    ///   - maximumPayloadSize: bytes of a packet of Opus.
    ///   - capacity: packets kept.
    package init(soundOf maximumPayloadSize: Int, capacity: Int) {
        precondition(capacity > 0)
        codec = .opus
        self.capacity = capacity
        self.maximumPayloadSize = maximumPayloadSize
    }

    /// A history of video.
    ///
    /// - Parameters:
    ///   - maximumPayloadSize: bytes of a payload, descriptor included.
    ///   - capacity: packets kept. A keyframe must fit more than once.
    package init(
        codec: VideoCodec,
        maximumPayloadSize: Int,
        capacity: Int,
        using random: inout some RandomNumberGenerator
    ) {
        precondition(capacity > 0)
        self.codec = .video(codec)
        self.capacity = capacity
        self.maximumPayloadSize = maximumPayloadSize
        packetizer = VideoPacketizer(
            codec: codec,
            maximumPacketSize: maximumPayloadSize + RTPHeader.size,
            pictureID: .random(in: 0...0x7FFF, using: &random),
            baseLayerIndex: .random(in: 0 ... .max, using: &random)
        )
    }

    /// The number of the oldest packet that is still there.
    package var start: UInt64 { max(end - UInt64(slots.count), forgottenEnd) }

    package func contains(_ index: UInt64) -> Bool { start..<end ~= index }

    /// A packet that is still there.
    package subscript(index: UInt64) -> Packet {
        _read {
            precondition(contains(index))
            yield slots[slot(of: index)]
        }
    }

    /// The newest entry that is still there; nil if it was appended before `instant` or is old.
    func entry(since instant: Instant? = nil, at now: Instant) -> UInt64? {
        guard let entry, entry.appendedAt >= instant ?? .start, now - entry.appendedAt <= Self.entryLifetime,
            contains(entry.index)
        else { return nil }
        return entry.index
    }

    /// Whether a stream can begin at once.
    package func canBegin(at now: Instant) -> Bool { entry(at: now) != nil }

    /// Cuts an encoded picture into packets.
    ///
    /// - Parameters:
    ///   - frame: the encoder's output, which is kept and not copied.
    ///   - dimensions: width and height in pixels.
    ///   - capturedAt: when the picture was on the screen.
    ///   - captureTime: when the pixels left the screen, for `forget(takenBefore:)`; `capturedAt` if nil.
    package func append(
        frame: [UInt8],
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16),
        capturedAt: Instant,
        captureTime: Instant? = nil,
        now: Instant
    ) {
        let fragments = packetizer!.packetize(frame.span, isKeyframe: isKeyframe, dimensions: dimensions)
        if isKeyframe { entry = Entry(index: end, appendedAt: now) }
        let frame = Frame(
            frame,
            fragments,
            capturedAt: capturedAt,
            captureTime: captureTime ?? capturedAt,
            keyframe: isKeyframe ? dimensions : nil,
            now: now,
            in: self
        )
        append(frame, fragments)
    }

    /// Appends a packet of sound, at most `maximumPayloadSize` bytes.
    ///
    /// - Parameter capturedAt: when its first sample was heard, counted in samples from the very first one: receivers
    ///   take any difference from the length of the packet before for a gap.
    package func append(sound packet: [UInt8], capturedAt: Instant, now: Instant) {
        precondition(packetizer == nil && 1...maximumPayloadSize ~= packet.count)
        entry = Entry(index: end, appendedAt: now)
        append(
            Frame(packet, nil, capturedAt: capturedAt, captureTime: capturedAt, keyframe: nil, now: now, in: self),
            CollectionOfOne(PictureFragments.Fragment(range: 0..<packet.count, isFirst: true, isLast: true))
        )
    }

    /// Bytes of the frames from a packet on, which must still be there, to the end.
    func size(from index: UInt64) -> Int {
        let packet = self[index]
        return Int(byteCount - packet.frame.start) - packet.offset
    }

    /// Forgets the packets of all frames up to the last one that was captured before an instant. No stream begins with
    /// them, continues with them or repeats them.
    ///
    /// - Returns: whether there were any.
    package func forget(takenBefore instant: Instant) -> Bool {
        let before = start
        while start < end, self[start].frame.captureTime < instant { forgottenEnd = start + 1 }
        return start > before
    }

    /// Keeps that many packets from now on, the newest ones.
    package func setCapacity(_ capacity: Int) {
        precondition(capacity > 0)
        let count = UInt64(min(slots.count, capacity))
        slots = (end - count..<end).map { slots[slot(of: $0)] }
        origin = end - count
        self.capacity = capacity
    }

    private func append(_ frame: Frame, _ fragments: some Sequence<PictureFragments.Fragment>) {
        byteCount += UInt64(frame.bytes.count)
        for fragment in fragments {
            let packet = Packet(frame, fragment)
            (lastTicks, lastNumber) = (frame.ticks, frame.number)
            if slots.count < capacity { slots.append(packet) } else { slots[slot(of: end)] = packet }
            end += 1
        }
    }

    private func slot(of index: UInt64) -> Int { Int((index - origin) % UInt64(capacity)) }
}
