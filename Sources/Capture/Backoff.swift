import Time

/// The time between attempts to find the source again: 50 ms, doubled each time up to 500 ms, so that a restarted X
/// server is found within half a second and an absent one costs two attempts a second.
struct Backoff: Equatable {
    private var delay = Duration.milliseconds(50)
    private(set) var nextAttempt: Instant

    init(now: Instant) { nextAttempt = now + delay }

    mutating func noteFailure(at now: Instant) {
        delay = min(delay * 2, .milliseconds(500))
        nextAttempt = now + delay
    }
}
