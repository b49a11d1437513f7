package import Media

/// The latest packets of one encoded stream, without what differs from viewer to viewer: each viewer reads them at its
/// own place, and what one of them missed is still there for a while.
///
/// Packets are numbered from 0. The slots are reused, so that a steady stream allocates nothing.
package struct PacketHistory: Sendable {
    package struct Packet: Sendable {
        /// Payload descriptor and a part of the picture.
        package fileprivate(set) var payload: [UInt8]
        /// When the picture was captured: nanoseconds of the capture clock.
        package fileprivate(set) var capturedAt: UInt64
        /// When it was taken from the screen, which has stood still since.
        package fileprivate(set) var takenAt: UInt64
        /// `capturedAt` in ticks of the RTP clock; later for each later picture.
        package fileprivate(set) var ticks: UInt64
        /// When the packet was appended.
        package fileprivate(set) var appendedAt: UInt64
        package fileprivate(set) var isFirst: Bool
        package fileprivate(set) var isLast: Bool
        /// One more for each picture, wrapping.
        package fileprivate(set) var frameNumber: UInt16
        /// Width and height in pixels of a keyframe; nil for a picture that needs the one before.
        package fileprivate(set) var keyframe: (width: UInt16, height: UInt16)?

        init(capacity: Int) {
            payload = []
            payload.reserveCapacity(capacity)
            (capturedAt, takenAt, ticks, appendedAt, frameNumber) = (0, 0, 0, 0, 0)
            (isFirst, isLast) = (false, false)
        }
    }

    /// Where a picture begins that can be decoded without the ones before.
    package struct Keyframe: Sendable, Equatable {
        package let index: UInt64
        package let appendedAt: UInt64
    }

    package let codec: VideoCodec
    private var packetizer: VideoPacketizer
    private var slots: [Packet] = []
    private let capacity: Int
    private var lastTicks: UInt64 = 0
    private var frameNumber: UInt16 = 0
    /// The number of the packet after the newest.
    package private(set) var end: UInt64 = 0
    /// Packets before this one were forgotten.
    private var forgottenEnd: UInt64 = 0
    /// The newest keyframe, whether or not it is still there.
    package private(set) var keyframe: Keyframe?

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
        self.codec = codec
        self.capacity = capacity
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

    /// Cuts an encoded picture into packets.
    ///
    /// - Parameters:
    ///   - dimensions: width and height in pixels.
    ///   - capturedAt: when the picture was on the screen: nanoseconds of the capture clock.
    ///   - takenAt: when it was taken from there, for `forget(takenBefore:)`; `capturedAt` if nil.
    package mutating func append(
        frame: Span<UInt8>,
        isKeyframe: Bool,
        dimensions: (width: UInt16, height: UInt16),
        capturedAt: UInt64,
        takenAt: UInt64? = nil,
        now: UInt64
    ) {
        lastTicks = max(RTPStream.ticks(capturedAt), lastTicks + 1)
        frameNumber &+= 1
        if isKeyframe { keyframe = Keyframe(index: end, appendedAt: now) }
        let fragments = packetizer.packetize(frame, isKeyframe: isKeyframe, dimensions: dimensions)
        for fragment in fragments {
            let slot = nextSlot()
            slots[slot].capturedAt = capturedAt
            slots[slot].takenAt = takenAt ?? capturedAt
            slots[slot].ticks = lastTicks
            slots[slot].appendedAt = now
            slots[slot].isFirst = fragment.isFirst
            slots[slot].isLast = fragment.isLast
            slots[slot].frameNumber = frameNumber
            slots[slot].keyframe = isKeyframe ? dimensions : nil
            slots[slot].payload.removeAll(keepingCapacity: true)
            fragments.write(fragment, of: frame, to: &slots[slot].payload)
            end += 1
        }
    }

    /// Forgets the packets of all pictures up to the last one that was taken before an instant: nobody begins with them,
    /// goes on with them, or gets them again.
    ///
    /// - Returns: whether there were any.
    package mutating func forget(takenBefore instant: UInt64) -> Bool {
        let before = start
        while start < end, self[start].takenAt < instant { forgottenEnd = start + 1 }
        return start > before
    }

    private mutating func nextSlot() -> Int {
        if slots.count < capacity {
            slots.append(Packet(capacity: packetizer.maximumPacketSize))
            return slots.count - 1
        }
        return Int(end % UInt64(capacity))
    }
}
