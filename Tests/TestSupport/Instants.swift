package import Time

/// Instants of a virtual clock.
extension Instant {
    package static func seconds(_ seconds: Double) -> Instant { start + .seconds(seconds) }

    package static func milliseconds(_ milliseconds: Double) -> Instant { start + .milliseconds(milliseconds) }

    package static func nanoseconds(_ nanoseconds: UInt64) -> Instant { Instant(nanoseconds: nanoseconds) }
}
