/// The time between attempts to find the source again: 50 ms, doubled each time up to 500 ms, so that a restarted X
/// server is found within half a second and an absent one costs two attempts a second.
struct Backoff {
    private var delay: UInt64 = 50_000_000
    private(set) var nextAttempt: UInt64

    init(now: UInt64) { nextAttempt = now + delay }

    mutating func noteFailure(at now: UInt64) {
        delay = min(delay * 2, 500_000_000)
        nextAttempt = now + delay
    }
}
