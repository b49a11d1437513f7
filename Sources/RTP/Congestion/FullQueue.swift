/// Measures a full link before the present train has ended, from the packets that arrive. On a link that has become
/// slow, a train sent for the old speed takes seconds to arrive.
struct FullQueue: Sendable {
    /// The fewest packets, and the shortest time of their arrivals in milliseconds: for a first result, and for a sure
    /// one.
    private static let fewestPackets = 6
    static let (shortestTime, longTime) = (120.0, 300.0)
    /// The shortest wait of the last packet, in milliseconds.
    private static let shortestWait = 100.0
    /// The shortest wait of the first packet. It need not have waited if all were sent within this share of the time of
    /// their arrivals.
    private static let (shortestFirstWait, largestShare) = (50.0, 0.5)
    /// Packets of 1200 bytes that arrive in `shortestTime` at 5 Mb/s. Faster links need no such haste.
    private static let capacity = 64

    /// The newest ones, in place: by number modulo the capacity.
    private var ring: [Arrival] = []
    private var count = 0

    /// Adds a packet, in the order of sending.
    mutating func add(_ arrival: Arrival) {
        if let last = newest(0), arrival.arrivedAt < last.arrivedAt { return }
        if ring.count < Self.capacity {
            ring.append(arrival)
        } else {
            ring[count % Self.capacity] = arrival
        }
        count += 1
    }

    mutating func removeAll() {
        ring.removeAll(keepingCapacity: true)
        count = 0
    }

    private func newest(_ age: Int) -> Arrival? {
        age < ring.count ? ring[(count - 1 - age) % Self.capacity] : nil
    }

    /// Bits a second; nil if the link is not shown to be full. The longest gap between two packets does not count: a
    /// radio link that pauses is not slow.
    ///
    /// - Parameters:
    ///   - shortest: the time of the arrivals, in milliseconds.
    ///   - base: the delay of a packet that does not wait, in milliseconds.
    func speed(over shortest: Double, base: Double) -> Double? {
        guard let last = newest(0), last.delay >= base + Self.shortestWait else { return nil }
        var size = 0
        var later = last
        var longest = (gap: -1.0, size: 0)
        for age in 1..<max(ring.count, 1) {
            guard let first = newest(age) else { return nil }
            size += later.size
            if later.arrivedAt - first.arrivedAt > longest.gap {
                longest = (later.arrivedAt - first.arrivedAt, later.size)
            }
            later = first
            let time = last.arrivedAt - first.arrivedAt
            guard age + 1 >= Self.fewestPackets, time - longest.gap >= shortest else { continue }
            let isFull =
                first.delay >= base + Self.shortestFirstWait
                || last.sentAt - first.sentAt <= Self.largestShare * time
            return isFull ? Double(size - longest.size) * 8000 / (time - longest.gap) : nil
        }
        return nil
    }
}
