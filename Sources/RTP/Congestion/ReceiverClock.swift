/// Arrival times without wrapping.
struct ReceiverClock: Sendable {
    private var last: UInt32?
    private var total: Int64 = 0

    /// - Parameter ticks: of 250 µs, modulo 2³²; not far from the time before.
    mutating func milliseconds(at ticks: UInt32) -> Double {
        total += Int64(Int32(bitPattern: ticks &- (last ?? ticks)))
        last = ticks
        return Double(total) / 4
    }
}
