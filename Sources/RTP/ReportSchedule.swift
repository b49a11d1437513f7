package import Time

/// The times of sender reports: with the first packet, and then every 0.5 to 1.5 s. The interval is random, so that
/// senders do not fall into step (RFC 3550 §6.2, §6.3.1).
package struct ReportSchedule: Sendable {
    private var random: SplitMix64
    /// Nil before the first packet.
    package private(set) var nextDeadline: Instant?

    package init(seed: UInt64) { random = SplitMix64(seed: seed) }

    package mutating func packetSent(at now: Instant) { if nextDeadline == nil { nextDeadline = now } }

    package func isDue(at now: Instant) -> Bool { nextDeadline.map { now >= $0 } ?? false }

    package mutating func reportSent(at now: Instant) {
        nextDeadline = now + .milliseconds(Int.random(in: 500...1500, using: &random))
    }
}

/// A random name without meaning: hexadecimal digits of four bits each.
package func randomName(digits: Int, using random: inout some RandomNumberGenerator) -> String {
    (0..<digits).map { _ in String(random.next(upperBound: 16 as UInt8), radix: 16) }.joined()
}
