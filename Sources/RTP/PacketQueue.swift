/// Packets on their way out, released at a steady rate after a short burst.
///
/// A token bucket in the form of the generic cell rate algorithm (ITU-T I.371): a packet may leave when it is at most
/// the burst's duration ahead of a schedule at the given rate. The slots are reused, so that a steady stream allocates
/// nothing. Sans-IO: `now` is nanoseconds of the capture clock.
package struct PacketQueue: Sendable {
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

        /// Five times the encoder's target in bits a second; at once 20 packets, about two frames of a lively screen at
        /// 2.5 Mb/s, or 5 ms, whichever is more.
        package static func video(targetBitrate: UInt64, packetSize: Int = 1200) -> Pace {
            let rate = min(max(targetBitrate, 1), 1 << 40) * 5
            return Pace(rate: rate, burst: max(20 * packetSize, Int(rate / 8 / 200)))
        }

        /// Nanoseconds that `bytes` take; up to 2 GiB.
        func duration(of bytes: Int) -> UInt64 { UInt64(min(bytes, 1 << 31)) * 8_000_000_000 / rate }
    }

    /// What waits: bytes, and nanoseconds until the last of them leaves.
    package struct Backlog: Equatable, Sendable {
        package let bytes: Int
        package let duration: UInt64
    }

    package var pace: Pace
    private let packetSize: Int
    private let capacityLimit: Int
    private var slots: [[UInt8]] = []
    private var head = 0
    package private(set) var count = 0
    private var bytes = 0
    /// The schedule: when the next packet would leave if there were no burst.
    private var scheduled: UInt64 = 0

    /// - Parameters:
    ///   - packetSize: bytes reserved for each packet.
    ///   - capacity: packets held without allocating.
    ///   - capacityLimit: packets held at most.
    package init(pace: Pace, packetSize: Int, capacity: Int = 256, capacityLimit: Int = 4096) {
        precondition(packetSize > 0 && capacity > 0)
        self.pace = pace
        self.packetSize = packetSize
        self.capacityLimit = max(capacity, capacityLimit)
        grow(to: capacity)
    }

    package var isEmpty: Bool { count == 0 }

    /// How many more packets can be appended.
    package var room: Int { capacityLimit - count }

    /// When the next packet may leave; nil when none waits. May lie in the past.
    package var nextDeadline: UInt64? {
        isEmpty ? nil : scheduled.subtracting(clamped: lead(of: slots[head].count))
    }

    package func backlog(at now: UInt64) -> Backlog {
        if isEmpty { return Backlog(bytes: 0, duration: 0) }
        let end = max(scheduled, now).adding(clamped: pace.duration(of: bytes))
        let last = pace.duration(of: pace.burst)
        return Backlog(bytes: bytes, duration: end.subtracting(clamped: now.adding(clamped: last)))
    }

    /// Appends the packet that `write` puts into an empty array. There must be `room`.
    package mutating func append(_ write: (inout [UInt8]) -> Void) {
        precondition(room > 0)
        if count == slots.count { grow(to: min(slots.count * 2, capacityLimit)) }
        let slot = (head + count) % slots.count
        slots[slot].removeAll(keepingCapacity: true)
        write(&slots[slot])
        bytes += slots[slot].count
        count += 1
    }

    /// Moves the next packet to the end of `batch` if it may leave at `now`. Returns whether it did.
    package mutating func dequeue(at now: UInt64, into batch: inout PacketBatch) -> Bool {
        guard let nextDeadline, nextDeadline <= now else { return false }
        let size = slots[head].count
        batch.append(slots[head])
        scheduled = max(scheduled, now).adding(clamped: pace.duration(of: size))
        head = (head + 1) % slots.count
        count -= 1
        bytes -= size
        return true
    }

    /// Forgets all packets that wait.
    package mutating func removeAll() {
        (head, count, bytes) = (0, 0, 0)
    }

    /// How far ahead of the schedule a packet may leave. None when it is larger than the burst.
    private func lead(of size: Int) -> UInt64 {
        pace.duration(of: pace.burst).subtracting(clamped: pace.duration(of: size))
    }

    private mutating func grow(to capacity: Int) {
        let oldest = slots[..<head]
        slots.removeSubrange(..<head)
        slots.append(contentsOf: oldest)
        head = 0
        while slots.count < capacity {
            slots.append([])
            slots[slots.count - 1].reserveCapacity(packetSize)
        }
    }
}
