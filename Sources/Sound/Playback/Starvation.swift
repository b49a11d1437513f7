import Time

/// How long a sound server has had nothing to play, by what it tells. Sans-IO.
///
/// It tells when that begins, and when it ends, which takes an instant as long as it asks for samples and gets them. A PipeWire (up to 1.0)
/// whose main thread stood still for some tenths of a second loses count of what it has played: from then on it asks so late that what comes
/// is never played.
struct Starvation {
    static let patience = Duration.seconds(1)

    private var since: Instant?

    mutating func noteUnderrun(at now: Instant) { since = since ?? now }

    mutating func noteStart() { since = nil }

    /// Whether it lasts for so long that it does not end by itself.
    func isLong(at now: Instant) -> Bool { since.map { now >= $0 + Self.patience } ?? false }
}
