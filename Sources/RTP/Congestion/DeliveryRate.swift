/// The rate of arrivals over the last moments of the receiver's clock.
struct DeliveryRate: Sendable {
    /// The longest and the shortest time that counts, in milliseconds.
    private static let (longest, shortest) = (300.0, 60.0)
    /// The most packets that count, for a receiver clock that stands still.
    static let limit = 1024

    private(set) var arrivals: [(at: Double, size: Int)] = []
    private var size = 0

    mutating func add(_ arrival: Arrival) {
        if let last = arrivals.last, arrival.arrivedAt < last.at { return }
        arrivals.append((arrival.arrivedAt, arrival.size))
        size += arrival.size
        let surplus = arrivals.count - Self.limit
        let old = arrivals.prefix(max(surplus, arrivals.prefix { arrival.arrivedAt - $0.at > Self.longest }.count))
        size -= old.reduce(0) { $0 + $1.size }
        arrivals.removeFirst(old.count)
    }

    /// Bits a second; nil while there is too little to tell.
    var rate: Double? {
        guard let first = arrivals.first, let last = arrivals.last, last.at - first.at >= Self.shortest else {
            return nil
        }
        return Double(size - first.size) * 8000 / (last.at - first.at)
    }
}
