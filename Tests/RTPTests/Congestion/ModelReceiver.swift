import Time

@testable import RTP

/// A receiver that reports arrivals as browsers do: at an interval, if anything new has come, and from the first packet on
/// that it has not reported on.
struct ModelReceiver {
    static let interval = Duration.milliseconds(50)

    /// What its clock shows at the start of the sender's, in ticks of 250 µs.
    private let clockOffset: UInt32
    private var arrivals: [UInt64: Instant] = [:]
    /// Packets before this one were reported on.
    private var start: UInt64 = 0
    private var newest: UInt64?
    private var reportCount: UInt8 = 0

    init(clockOffset: UInt32 = 0) { self.clockOffset = clockOffset }

    /// A packet arrives; of one that arrives twice, the first time counts.
    mutating func receive(_ number: UInt64, at now: Instant) {
        if arrivals[number] != nil { return }
        arrivals[number] = now
        newest = max(newest ?? 0, number)
        start = min(start, number)
    }

    mutating func takeReport() -> TransportFeedback? {
        guard let newest, newest >= start else { return nil }
        defer {
            start = newest + 1
            self.newest = nil
            arrivals = arrivals.filter { $0.key + 1000 > start }
        }
        reportCount &+= 1
        return TransportFeedback(
            sender: 1,
            media: 2,
            number: reportCount,
            first: UInt16(truncatingIfNeeded: start),
            times: (start...newest).map { number in arrivals[number].map(ticks) }
        )
    }

    private func ticks(_ instant: Instant) -> UInt32 {
        UInt32(truncatingIfNeeded: instant.nanoseconds / 250_000) &+ clockOffset
    }
}
