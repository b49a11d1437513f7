/// Codes bits of known probability into few bytes (RFC 6386 §7.3).
struct BoolEncoder {
    private(set) var bytes: [UInt8] = []
    /// The lower end of the interval: 8 bits on the scale of `range`, above them `pending` bits that only a carry can
    /// change, and above those the carry.
    private var bottom: UInt32 = 0
    /// The length of the interval; 128...255 between two bits.
    private var range: UInt32 = 255
    private var pending: UInt32 = 0

    /// Starts anew; memory is kept.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        bottom = 0
        range = 255
        pending = 0
    }

    /// - Parameter probability: of false, in 1/256; 0 counts as 1.
    @inline(__always)
    mutating func write(_ bit: Bool, _ probability: UInt8) {
        let split = 1 + ((range - 1) * UInt32(probability)) >> 8
        if bit {
            bottom &+= split
            range &-= split
        } else {
            range = split
        }
        let shift = UInt32(range.leadingZeroBitCount) &- 24
        range <<= shift
        bottom <<= shift
        pending &+= shift
        if pending >= 8 { emitByte() }
    }

    /// The lowest `count` bits of a number, the highest of them first, each as probable as not.
    mutating func write(_ value: Int, bits count: Int) {
        precondition(0..<1 << count ~= value, "a number of more than \(count) bits")
        for bit in (0..<count).reversed() { write(value >> bit & 1 != 0, 128) }
    }

    /// Ends the coding. Decoders assume zeros beyond the last byte.
    mutating func finish() {
        bottom <<= 8 - pending
        pending = 8
        emitByte()
        bottom <<= 8
        pending = 8
        emitByte()
    }

    private mutating func emitByte() {
        let byte = bottom >> pending
        if byte > 255 { carry() }
        bytes.append(UInt8(truncatingIfNeeded: byte))
        bottom &= 1 << pending - 1
        pending -= 8
    }

    /// Adds one to the number that all bytes form.
    private mutating func carry() {
        var index = bytes.count - 1
        while bytes[index] == 255 {
            bytes[index] = 0
            index -= 1
        }
        bytes[index] += 1
    }
}
