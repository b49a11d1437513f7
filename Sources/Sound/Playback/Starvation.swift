import Time

/// How long a sound server has had nothing to play, from its reports. Sans-IO.
///
/// It reports the beginning and the end. The end comes at once while the server asks for samples and gets them. A
/// PipeWire (up to 1.0) whose main thread stood still for some tenths of a second loses count of the played samples.
/// From then on it asks so late that the samples are never played.
struct Starvation {
    static let patience = Duration.seconds(1)

    private var since: Instant?

    mutating func noteUnderrun(at now: Instant) { since = since ?? now }

    mutating func noteStart() { since = nil }

    /// Whether it has lasted so long that it does not end by itself.
    func isLong(at now: Instant) -> Bool { since.map { now >= $0 + Self.patience } ?? false }
}
