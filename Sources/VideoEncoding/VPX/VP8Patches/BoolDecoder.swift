/// Reads the output of `BoolEncoder` (RFC 6386 §7.3). Beyond the end there are zeros.
struct BoolDecoder: ~Escapable {
    private let bytes: Span<UInt8>
    private var next: Int
    /// Two bytes of the number, shifted so that the first one is on the scale of `range`.
    private var value: UInt32 = 0
    private var range: UInt32 = 255
    private var shiftsToByte = 8

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>, from start: Int) {
        self.bytes = bytes
        next = start
        value = UInt32(takeByte()) << 8
        value |= UInt32(takeByte())
    }

    private mutating func takeByte() -> UInt8 {
        defer { next += 1 }
        return next < bytes.count ? bytes[next] : 0
    }

    /// - Parameter probability: of false, in 1/256.
    mutating func read(_ probability: UInt8) -> Bool {
        let split = 1 + ((range - 1) * UInt32(probability)) >> 8
        let bit = value >= split << 8
        if bit {
            value -= split << 8
            range -= split
        } else {
            range = split
        }
        while range < 128 {
            range <<= 1
            value <<= 1
            shiftsToByte -= 1
            if shiftsToByte == 0 {
                value |= UInt32(takeByte())
                shiftsToByte = 8
            }
        }
        return bit
    }

    /// A number of `count` bits, the highest first, each as probable as not.
    mutating func read(bits count: Int) -> Int {
        var number = 0
        for _ in 0..<count { number = number << 1 | (read(128) ? 1 : 0) }
        return number
    }

    mutating func readFlag() -> Bool { read(128) }
}
