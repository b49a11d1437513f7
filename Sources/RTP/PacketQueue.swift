package import Time

/// Packets on their way out, released by a pacer. The slots are reused, so that a steady stream allocates nothing.
package struct PacketQueue: Sendable {
    /// What waits: bytes, and how long it takes until the last of them leaves.
    package struct Backlog: Equatable, Sendable {
        package let bytes: Int
        package let duration: Duration
    }

    private var pacer: Pacer
    private let packetSize: Int
    private let capacityLimit: Int
    private var slots: [[UInt8]] = []
    private var head = 0
    package private(set) var count = 0
    private var bytes = 0

    /// - Parameters:
    ///   - packetSize: bytes reserved for each packet.
    ///   - capacity: packets held without allocating.
    ///   - capacityLimit: packets held at most.
    package init(pace: Pacer.Pace, packetSize: Int, capacity: Int = 256, capacityLimit: Int = 4096) {
        precondition(packetSize > 0 && capacity > 0)
        pacer = Pacer(pace: pace)
        self.packetSize = packetSize
        self.capacityLimit = max(capacity, capacityLimit)
        grow(to: capacity)
    }

    package var pace: Pacer.Pace {
        get { pacer.pace }
        set { pacer.pace = newValue }
    }

    package var isEmpty: Bool { count == 0 }

    /// How many more packets can be appended.
    package var room: Int { capacityLimit - count }

    /// When the next packets may leave, three quarters of a burst if there are as many; nil when none waits. May lie in the
    /// past.
    ///
    /// One by one they would cost more for waking up than for sending, and the last one would leave no earlier.
    package var nextDeadline: Instant? {
        if isEmpty { return nil }
        var size = slots[head].count
        for index in 1..<max(count, 1) {
            let next = slots[(head + index) % slots.count].count
            if (size + next) * 4 > pacer.pace.burst * 3 { break }
            size += next
        }
        return pacer.earliest(forPacketOf: size)
    }

    package func backlog(at now: Instant) -> Backlog {
        Backlog(bytes: bytes, duration: isEmpty ? .zero : pacer.delay(of: bytes, at: now))
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
    package mutating func dequeue(at now: Instant, into batch: inout PacketBatch) -> Bool {
        guard !isEmpty, pacer.earliest(forPacketOf: slots[head].count) <= now else { return false }
        let size = slots[head].count
        batch.append(slots[head])
        pacer.note(packetOf: size, at: now)
        head = (head + 1) % slots.count
        count -= 1
        bytes -= size
        return true
    }

    /// Forgets all packets that wait.
    package mutating func removeAll() {
        (head, count, bytes) = (0, 0, 0)
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
