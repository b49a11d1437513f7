/// When sender reports are due: at once, and then every 0.5 to 1.5 intervals, chosen at random so that senders do not
/// fall into step (RFC 3550 §6.2, §6.3.1).
package struct ReportSchedule: Sendable {
    /// Nanoseconds.
    private let interval: UInt64
    private var random: SplitMix64
    package private(set) var nextDeadline: UInt64 = 0

    package init(interval: UInt64 = 1_000_000_000, seed: UInt64) {
        self.interval = interval
        random = SplitMix64(seed: seed)
    }

    package mutating func reportSent(at now: UInt64) {
        let wait = UInt64.random(in: interval / 2...interval / 2 * 3, using: &random)
        nextDeadline = now.adding(clamped: wait)
    }
}

/// A name for the sender that says nothing about it: 96 random bits (RFC 7022 §4.2), in hexadecimal.
package func randomCanonicalName(using random: inout some RandomNumberGenerator) -> String {
    var name = ""
    for _ in 0..<24 { name.append(String(random.next(upperBound: 16 as UInt8), radix: 16)) }
    return name
}
