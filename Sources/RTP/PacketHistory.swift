package import Media

/// The latest packets of one rendition or sound, without what differs from peer to peer: each stream reads them at its own
/// place, and what one of them missed is still there for a while.
///
/// Packets are numbered from 0. The slots are reused, so that a steady stream allocates nothing. One thread uses a history
/// and the streams that read it.
package final class PacketHistory {
    package struct Packet: Sendable {
        /// Payload descriptor and a part of the picture, or a packet of sound.
        package fileprivate(set) var payload: [UInt8]
        /// When the picture or the first sample was captured: nanoseconds of the capture clock.
        package fileprivate(set) var capturedAt: UInt64
        /// When it was taken from the screen, which has stood still since.
        package fileprivate(set) var takenAt: UInt64
        /// `capturedAt` in ticks of the RTP clock; later for each later frame.
        package fileprivate(set) var ticks: UInt64
        /// When the packet was appended.
        package fileprivate(set) var appendedAt: UInt64
        package fileprivate(set) var isFirst: Bool
        package fileprivate(set) var isLast: Bool
        /// One more for each frame, wrapping.
        package fileprivate(set) var frameNumber: UInt16
        /// Width and height in pixels of a keyframe; nil for sound, and for a picture that needs the one before.
        package fileprivate(set) var keyframe: (width: UInt16, height: UInt16)?

        init(capacity: Int) {
            payload = []
            payload.reserveCapacity(capacity)
            (capturedAt, takenAt, ticks, appendedAt, frameNumber) = (0, 0, 0, 0, 0)
            (isFirst, isLast) = (false, false)
        }
    }

    /// Where a frame begins that can be decoded without the ones before: a keyframe, or any packet of sound.
    package struct Entry: Sendable, Equatable {
        package let index: UInt64
        package let appendedAt: UInt64
    }

    /// A frame this old still begins a stream: what came after it is sent in a burst.
    private static let entryLifetime: UInt64 = 400_000_000

    package let codec: StreamCodec
    /// Nil for sound, of which each frame is one payload.
    private var packetizer: VideoPacketizer?
    private let maximumPayloadSize: Int
    private var slots: [Packet] = []
    private let capacity: Int
    private var lastTicks: UInt64 = 0
    private var frameNumber: UInt16 = 0
    /// The number of the packet after the newest.
    package private(set) var end: UInt64 = 0
    /// Packets before this one were forgotten.
    private var forgottenEnd: UInt64 = 0
    /// The newest frame to begin with, whether or not it is still there.
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
            yield slots[Int(index % UInt64(capacity))]
        }
    }

    /// The newest frame to begin with that is still there, unless it was appended before an instant or is old.
    func entry(since instant: UInt64, at now: UInt64) -> UInt64? {
        guard let entry, entry.appendedAt >= max(instant, now.subtracting(clamped: Self.entryLifetime)),
            contains(entry.index)
        else { return nil }
        return entry.index
    }

    /// Whether a stream can begin at once, with a frame that is there.
    package func canBegin(at now: UInt64) -> Bool { entry(since: 0, at: now) != nil }

    /// Cuts an encoded picture into packets.
    ///
    /// - Parameters:
    ///   - dimensions: width and height in pixels.
    ///   - capturedAt: when the picture was on the screen: nanoseconds of the capture clock.
    ///   - takenAt: when it was taken from there, for `forget(takenBefore:)`; `capturedAt` if nil.
    package func append(
        frame: Span<UInt8>,
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16),
        capturedAt: UInt64,
        takenAt: UInt64? = nil,
        now: UInt64
    ) {
        let fragments = packetizer!.packetize(frame, isKeyframe: isKeyframe, dimensions: dimensions)
        beginFrame(capturedAt, isEntry: isKeyframe, now: now)
        for fragment in fragments {
            let slot = nextSlot(capturedAt, takenAt: takenAt ?? capturedAt, now: now)
            slots[slot].isFirst = fragment.isFirst
            slots[slot].isLast = fragment.isLast
            slots[slot].keyframe = isKeyframe ? dimensions : nil
            fragments.write(fragment, of: frame, to: &slots[slot].payload)
        }
    }

    /// Appends a packet of sound, at most `maximumPayloadSize` bytes.
    ///
    /// - Parameter capturedAt: when its first sample was heard, reckoned in samples from the first of all: receivers take a
    ///   difference from the length of the packet before for a gap.
    package func append(sound packet: Span<UInt8>, capturedAt: UInt64, now: UInt64) {
        precondition(packetizer == nil && 1...maximumPayloadSize ~= packet.count)
        beginFrame(capturedAt, isEntry: true, now: now)
        let slot = nextSlot(capturedAt, takenAt: capturedAt, now: now)
        slots[slot].isFirst = true
        slots[slot].isLast = true
        slots[slot].payload.append(contentsOf: packet)
    }

    /// Forgets the packets of all frames up to the last one that was taken before an instant: nobody begins with them,
    /// goes on with them, or gets them again.
    ///
    /// - Returns: whether there were any.
    package func forget(takenBefore instant: UInt64) -> Bool {
        let before = start
        while start < end, self[start].takenAt < instant { forgottenEnd = start + 1 }
        return start > before
    }

    private func beginFrame(_ capturedAt: UInt64, isEntry: Bool, now: UInt64) {
        lastTicks = max(RTPStream.ticks(capturedAt, codec.clockRate), lastTicks + 1)
        frameNumber &+= 1
        if isEntry { entry = Entry(index: end, appendedAt: now) }
    }

    /// The slot of one more packet of the frame, with an empty payload.
    private func nextSlot(_ capturedAt: UInt64, takenAt: UInt64, now: UInt64) -> Int {
        let slot = slots.count < capacity ? slots.count : Int(end % UInt64(capacity))
        if slot == slots.count { slots.append(Packet(capacity: maximumPayloadSize + RTPHeader.size)) }
        slots[slot].capturedAt = capturedAt
        slots[slot].takenAt = takenAt
        slots[slot].ticks = lastTicks
        slots[slot].appendedAt = now
        slots[slot].frameNumber = frameNumber
        slots[slot].payload.removeAll(keepingCapacity: true)
        end += 1
        return slot
    }
}
