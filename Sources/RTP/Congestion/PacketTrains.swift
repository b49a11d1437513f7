/// Trains of packets that left one right after the other. If a train arrives as fast as it left, the link carries at
/// least that rate. If it arrives slower, it shows the speed of the link.
///
/// Every burst of pictures is such a measurement. Padding makes one if there is nothing else to send.
struct PacketTrains: Sendable {
    struct Measurement {
        /// Bits a second.
        var sent: Double
        var arrived: Double
        /// The delays of the first and the last packet, in milliseconds.
        var delays: (first: Double, last: Double)

        /// Whether the link could not carry the sent rate, or was full before.
        ///
        /// - Parameter base: the delay of a packet that does not wait.
        func isSaturated(base: Double) -> Bool {
            arrived < 0.9 * sent && delays.last > delays.first + 5 || min(delays.first, delays.last) > base + 15
        }
    }

    private struct Train {
        /// The number of its first packet.
        var start: UInt64
        var first: Arrival
        var last: Arrival
        var lastArrivedAt: Double
        var packets = 1
        var size: Int

        init(_ start: UInt64, _ arrival: Arrival) {
            (self.start, first, last, lastArrivedAt, size) = (start, arrival, arrival, arrival.arrivedAt, arrival.size)
        }

        mutating func add(_ arrival: Arrival) {
            packets += 1
            size += arrival.size
            last = arrival
            lastArrivedAt = max(lastArrivedAt, arrival.arrivedAt)
        }
    }

    /// A train of fewer packets says too little.
    static let fewestPackets = 5
    /// So does a train that was sent and arrived in less time than this, in milliseconds.
    private static let shortestTime = 8.0
    /// Most of the packets must have arrived.
    private static let leastShare = 0.8
    /// Packets that were held up and let go together arrive faster than any link carries.
    private static let largestRatio = 2.0

    private var train: Train?
    /// Trains that begin before this packet do not count.
    private var earliest: UInt64 = 0

    /// Adds a packet, in the order of sending.
    ///
    /// - Parameter start: the number of the first packet of its train.
    /// - Returns: the result of the train before, if it ends here and is long enough.
    mutating func add(_ arrival: Arrival, ofTrainFrom start: UInt64) -> Measurement? {
        guard start >= earliest else { return nil }
        switch train?.start {
        case .some(start): train?.add(arrival)
        case .some(start...): break
        case .some(let before):
            defer { train = Train(start, arrival) }
            return train.flatMap { Self.measure($0, sentCount: start - before) }
        case nil: train = Train(start, arrival)
        }
        return nil
    }

    /// Drops trains that have left so far: they measure the link as it was.
    ///
    /// - Parameter number: of the next packet.
    mutating func forget(before number: UInt64) { (train, earliest) = (nil, number) }

    /// The result so far of the train that has not ended.
    var measurement: Measurement? { train.flatMap { Self.measure($0, sentCount: UInt64($0.packets)) } }

    private static func measure(_ train: Train, sentCount: UInt64) -> Measurement? {
        let (sendTime, arrivalTime) = (
            train.last.sentAt - train.first.sentAt, train.lastArrivedAt - train.first.arrivedAt
        )
        guard train.packets >= fewestPackets, Double(train.packets) >= leastShare * Double(sentCount),
            max(sendTime, arrivalTime) >= shortestTime, arrivalTime > 0
        else { return nil }
        // Of n packets, n - 1 leave and arrive in these times.
        let sent = sendTime > 0 ? Double(train.size - train.last.size) * 8000 / sendTime : .infinity
        let arrived = Double(train.size - train.first.size) * 8000 / arrivalTime
        guard arrived <= largestRatio * sent else { return nil }
        return Measurement(sent: sent, arrived: arrived, delays: (train.first.delay, train.last.delay))
    }
}
