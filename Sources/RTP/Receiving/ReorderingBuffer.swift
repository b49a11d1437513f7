/// Counts sequence numbers on beyond 65535 (RFC 3550 §A.1): each is the closest one to the highest so far.
struct SequenceUnwrapper {
    /// Nil before the first number.
    private(set) var highest: Int64?

    mutating func unwrap(_ number: UInt16) -> Int64 {
        guard let highest else {
            // So large that numbers from before the first one are positive too.
            let first = Int64(number) + 1 << 16
            self.highest = first
            return first
        }
        let step = Int64(Int16(bitPattern: number &- UInt16(truncatingIfNeeded: highest)))
        self.highest = max(highest, highest + step)
        return highest + step
    }
}

/// Packets of one source that came before others that were sent earlier, until these are there or given up.
struct ReorderingBuffer {
    enum Insertion {
        case isNew
        /// It came before, or too late.
        case isOld
        /// So much is missing before it that the buffer has begun anew with it.
        case isFarAhead
    }

    /// The most packets that wait: 2 s at 10 Mb/s.
    static let capacity = 2048

    /// By number, from the next one on.
    private var waiting: [Int64: IncomingPacket] = [:]
    /// The number of the packet that comes next; nil before the first.
    private(set) var next: Int64?
    /// One more than the highest number.
    private(set) var end: Int64 = 0

    /// - Parameters:
    ///   - number: not negative.
    ///   - mayBeginEarlier: whether a packet before the next one moves that back.
    mutating func insert(_ packet: IncomingPacket, _ number: Int64, mayBeginEarlier: Bool) -> Insertion {
        var next = self.next ?? number
        if mayBeginEarlier, number < next, end - number < Self.capacity {
            next = number
            self.next = number
        }
        if number < next || self[number] != nil { return .isOld }
        let isFarAhead = number - next >= Self.capacity
        if isFarAhead {
            waiting.removeAll()
            self.next = number
        } else {
            self.next = next
        }
        end = max(end, number + 1)
        waiting[number] = packet
        return isFarAhead ? .isFarAhead : .isNew
    }

    /// A packet that waits.
    subscript(number: Int64) -> IncomingPacket? { waiting[number] }

    /// The next packet, if it is there.
    mutating func takeNext() -> IncomingPacket? {
        guard let number = next, let packet = waiting.removeValue(forKey: number) else { return nil }
        next = number + 1
        return packet
    }

    /// Throws away what waits before a number, and does not wait for it any more.
    mutating func skip(to number: Int64) {
        guard let next, number > next else { return }
        if waiting.count < number - next {
            waiting = waiting.filter { $0.key >= number }
        } else {
            for skipped in next..<number { waiting[skipped] = nil }
        }
        self.next = number
        end = max(end, number)
    }

    /// The number of the first packet that waits.
    var first: Int64? { next.flatMap { next in (next..<max(next, end)).first { self[$0] != nil } } }
}
