package import Time

/// Limits sending to a steady rate after a short burst.
///
/// A token bucket in the form of the generic cell rate algorithm (ITU-T I.371): a packet may leave when it is at most
/// the burst's duration ahead of a schedule at the given rate.
package struct Pacer: Sendable {
    /// How fast packets may leave.
    package struct Pace: Equatable, Sendable {
        /// Bits a second, at least 1.
        package var rate: UInt64
        /// Bytes that may leave at once after a pause.
        package var burst: Int

        package init(rate: UInt64, burst: Int) {
            precondition(rate > 0 && burst > 0)
            self.rate = rate
            self.burst = burst
        }

        /// The pace of packets over the encoder's target, at the most.
        static let lead: UInt64 = 5

        /// Five times the encoder's target in bits a second. The burst is 20 packets of 1200 bytes, about two frames of
        /// a lively screen at 2.5 Mb/s, or 5 ms, whichever is more.
        package static func video(targetBitrate: UInt64) -> Pace {
            let rate = min(max(targetBitrate, 1), 1 << 40) * lead
            return Pace(rate: rate, burst: max(20 * 1200, Int(rate / 8 / 200)))
        }

        /// - Parameters:
        ///   - rate: bits a second.
        ///   - burst: the time whose bytes may leave at once; at least one packet.
        static func steady(rate: Double, burst: Duration) -> Pace {
            Pace(rate: UInt64(max(rate, 1)), burst: max(1200, Int(rate / 8 * burst.seconds)))
        }

        /// The duration of `bytes`, up to 1 GiB.
        func nanoseconds(of bytes: Int) -> Int64 { Int64(UInt64(min(bytes, 1 << 30)) * 8_000_000_000 / rate) }
    }

    package var pace: Pace
    /// When the next packet would leave if there were no burst.
    private var scheduled = Instant.start

    package init(pace: Pace) { self.pace = pace }

    /// When a packet of `size` bytes may leave. May lie in the past.
    package func earliest(forPacketOf size: Int) -> Instant {
        // A packet larger than the burst has no lead.
        scheduled.advanced(byNanoseconds: -pace.nanoseconds(of: max(pace.burst - size, 0)))
    }

    /// Records a packet of `size` bytes that leaves.
    package mutating func note(packetOf size: Int, at now: Instant) {
        scheduled = max(scheduled, now).advanced(byNanoseconds: pace.nanoseconds(of: size))
    }

    /// How long the last of `bytes` must wait.
    package func delay(of bytes: Int, at now: Instant) -> Duration {
        let lead = pace.nanoseconds(of: pace.burst)
        return max(.zero, max(scheduled, now) - now + .nanoseconds(pace.nanoseconds(of: bytes) - lead))
    }
}
