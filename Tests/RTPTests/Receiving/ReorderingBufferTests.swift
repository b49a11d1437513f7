import TestSupport
import Testing

@testable import RTP

@Suite struct ReorderingBufferTests {
    private var buffer = ReorderingBuffer()

    /// - Parameter begins: whether a keyframe begins with it.
    @discardableResult
    private mutating func insert(
        _ number: Int64,
        marker: Bool = false,
        begins: Bool = false,
        mayBeginEarlier: Bool = false
    ) throws -> ReorderingBuffer.Insertion {
        let low = UInt16(truncatingIfNeeded: number)
        let bytes: [UInt8] =
            [0x80, (marker ? 0x80 : 0) | 96, UInt8(low >> 8), UInt8(low & 0xFF)] + [UInt8](repeating: 1, count: 9)
        let packet = try IncomingPacket(bytes, HeaderExtensions())
        return buffer.insert(packet, number, beginsKeyframe: begins, mayBeginEarlier: mayBeginEarlier)
    }

    /// The numbers of all that can be taken now, modulo 65536.
    private mutating func take() -> [UInt16] {
        var numbers: [UInt16] = []
        while let packet = buffer.takeNext() { numbers.append(packet.header.sequenceNumber) }
        return numbers
    }

    @Test func numbersAreCountedOn() {
        var unwrapper = SequenceUnwrapper()
        let numbers = [65_534, 65_535, 1, 0, 65_533, 32_768, 32_767, 2].map { unwrapper.unwrap($0) }
        let turn: Int64 = 65_536
        let expected = [turn - 2, turn - 1, turn + 1, turn, turn - 3, turn + 32_768, turn + 32_767, turn + 2]
        #expect(numbers == expected.map { $0 + turn })
        #expect(unwrapper.highest == 2 * turn + 32_768)
    }

    @Test mutating func whatCameEarlyWaitsForWhatIsMissing() throws {
        for number in [65_534, 65_535, 65_538, 65_537] as [Int64] { try #expect(insert(number) == .isNew) }
        #expect(take() == [65_534, 65_535])
        #expect(buffer.next == 65_536 && buffer.first == 65_537 && buffer.end == 65_539)
        try #expect(insert(65_536) == .isNew)
        #expect(take() == [0, 1, 2])
        #expect(buffer.first == nil)
    }

    @Test mutating func whatCameBeforeIsOld() throws {
        for number in [10, 12] as [Int64] { try insert(number) }
        try #expect(insert(12) == .isOld, "it waits")
        #expect(take() == [10])
        try #expect(insert(10) == .isOld, "it was taken")
        try #expect(insert(9) == .isOld)
    }

    /// Before anything is taken, an earlier packet may still be the first.
    @Test mutating func theFirstPacketsMayComeInAnyOrder() throws {
        try insert(5000)
        try #expect(insert(4998, mayBeginEarlier: true) == .isNew)
        try #expect(insert(4999, mayBeginEarlier: true) == .isNew)
        let capacity = Int64(ReorderingBuffer.capacity)
        try #expect(insert(5001 - capacity, mayBeginEarlier: true) == .isOld, "too far from the last one")
        #expect(take() == [4998, 4999, 5000])
    }

    @Test mutating func whatIsFarAheadBeginsAnew() throws {
        let capacity = Int64(ReorderingBuffer.capacity)
        for number in [1, 3] as [Int64] { try insert(number) }
        #expect(take() == [1])
        try #expect(insert(2 + capacity - 1) == .isNew, "the last for which there is room")
        try #expect(insert(2 + capacity) == .isFarAhead)
        #expect(take() == [UInt16(2 + capacity)], "nothing of what waited is left")
        try #expect(insert(3) == .isOld)
    }

    @Test mutating func whatIsGivenUpIsNotWaitedFor() throws {
        for number in [1, 3, 4, 8] as [Int64] { try insert(number) }
        #expect(take() == [1])
        buffer.skip(to: 4)
        #expect(take() == [4])
        buffer.skip(to: 2)
        #expect(buffer.next == 5, "never back")
        buffer.skip(to: 20)
        #expect(take() == [] && buffer.next == 20)
        try #expect(insert(20) == .isNew)
        #expect(take() == [20])
    }

    /// Of the frames 1…2, 3…5 (a keyframe) and 6…7.
    @Test mutating func aKeyframeIsFoundOnceItIsWhole() throws {
        try insert(1)
        try insert(7, marker: true)
        try insert(3, begins: true)
        try insert(5, marker: true)
        #expect(buffer.keyframe(around: 5) == nil, "its middle is missing")
        try insert(4)
        for number in [3, 4, 5] as [Int64] { #expect(buffer.keyframe(around: number) == 3) }
        #expect(buffer.firstStart == 3)
        #expect(buffer.keyframe(around: 1) == nil && buffer.keyframe(around: 7) == nil)
        buffer.skip(to: 4)
        #expect(buffer.firstStart == nil)
    }
}
