import Time

/// Arrivals of a peer's numbered packets, for the peer's bandwidth estimate
/// (draft-holmer-rmcat-transport-wide-cc-extensions-01 §3).
struct TransportArrivals {
    /// The time until a report.
    static let interval = Duration.milliseconds(50)
    /// The most packets that one report covers, so that it fits into a datagram.
    static let longestReport = 200
    /// A packet may come this many numbers late. The packets since then are reported again.
    private static let memory: Int64 = 1000

    private var numbers = SequenceUnwrapper()
    /// By their numbers, in ticks of a clock that begins with the first packet.
    private var arrivals: [Int64: UInt32] = [:]
    private var start: Instant?
    /// The first number that the next report is about.
    private var next: Int64 = 0
    private var reportNumber: UInt8 = 0
    /// When the next report is due; nil while there is nothing to tell.
    private(set) var nextDeadline: Instant?

    mutating func noteArrival(of number: UInt16, at now: Instant) {
        let highest = numbers.highest
        let number = numbers.unwrap(number)
        guard highest.map({ number > $0 - Self.memory }) ?? true, arrivals[number] == nil else { return }
        if start == nil { (start, next) = (now, number) }
        arrivals[number] = UInt32(truncatingIfNeeded: (now - start!).nanoseconds / Int64(TransportFeedback.tick * 1000))
        next = min(next, number)
        if nextDeadline == nil { nextDeadline = now + Self.interval }
    }

    /// A report of the arrivals since the last one, if it is due. More may be due at once.
    ///
    /// - Parameters:
    ///   - sender: the SSRC of this side.
    ///   - media: one of the peer's.
    mutating func takeReport(from sender: UInt32, on media: UInt32, at now: Instant) -> TransportFeedback? {
        guard let due = nextDeadline, due <= now, let highest = numbers.highest else { return nil }
        // The peer has other ways to learn of a longer gap.
        let first = max(next, highest + 1 - Self.memory)
        var end = min(highest + 1, first + Int64(Self.longestReport))
        var told: [TransportFeedback.Arrival] = []
        for number in first..<end {
            guard let time = arrivals[number] else { continue }
            if let last = told.last, !TransportFeedback.canTell(time, after: last.time) {
                end = number
                break
            }
            told.append(TransportFeedback.Arrival(number: UInt16(truncatingIfNeeded: number), time: time))
        }
        // A report begins with an arrival, or covers a loss before one.
        defer { reportNumber &+= 1 }
        next = end
        if next > highest {
            nextDeadline = nil
            if arrivals.count > 2 * Self.memory { arrivals = arrivals.filter { $0.key > highest - Self.memory } }
        }
        return TransportFeedback(
            sender: sender,
            media: media,
            number: reportNumber,
            first: UInt16(truncatingIfNeeded: first),
            count: Int(end - first),
            arrivals: told
        )
    }
}
