/// Extends sequence numbers beyond 65535 (RFC 3550 §A.1): each is the closest one to the highest so far.
struct SequenceUnwrapper {
    /// Nil before the first number.
    private(set) var highest: Int64?

    mutating func unwrap(_ number: UInt16) -> Int64 {
        guard let highest else {
            // Large enough that numbers before the first one are positive too.
            let first = Int64(number) + 1 << 16
            self.highest = first
            return first
        }
        let step = Int64(Int16(bitPattern: number &- UInt16(truncatingIfNeeded: highest)))
        self.highest = max(highest, highest + step)
        return highest + step
    }
}

/// Packets of one source that came ahead of earlier ones. They wait until the earlier ones are there or given up.
struct ReorderingBuffer {
    enum Insertion {
        case isNew
        /// The packet is a repetition, or too late.
        case isOld
        /// Too much is missing before the packet. The buffer has begun anew with it.
        case isFarAhead
    }

    /// The most packets that wait: 2 s at 10 Mb/s.
    static let capacity = SequenceSet.capacity

    /// By number, from the next one on.
    private var waiting: [Int64: IncomingPacket] = [:]
    /// The numbers of waiting packets; of those that end a frame; and of those that begin a keyframe.
    private var (present, markers, starts) = (SequenceSet(), SequenceSet(), SequenceSet())
    /// The number of the packet that comes next; nil before the first.
    private(set) var next: Int64?
    /// One more than the highest number.
    private(set) var end: Int64 = 0

    /// - Parameters:
    ///   - number: not negative.
    ///   - beginsKeyframe: whether a keyframe begins with the packet.
    ///   - mayBeginEarlier: whether a packet before the next one moves that back.
    mutating func insert(
        _ packet: IncomingPacket,
        _ number: Int64,
        beginsKeyframe: Bool,
        mayBeginEarlier: Bool
    ) -> Insertion {
        var next = self.next ?? number
        if mayBeginEarlier, number < next, end - number < Self.capacity {
            next = number
            self.next = number
        }
        let isFarAhead = number - next >= Self.capacity
        if number < next || !isFarAhead && present.contains(number) { return .isOld }
        if isFarAhead {
            waiting.removeAll()
            present.removeAll()
            markers.removeAll()
            starts.removeAll()
            self.next = number
        } else {
            self.next = next
        }
        end = max(end, number + 1)
        waiting[number] = packet
        present.insert(number)
        if packet.header.marker { markers.insert(number) }
        if beginsKeyframe { starts.insert(number) }
        return isFarAhead ? .isFarAhead : .isNew
    }

    mutating func takeNext() -> IncomingPacket? {
        guard let number = next, present.contains(number) else { return nil }
        next = number + 1
        return remove(number)
    }

    /// Drops the packets before a number, and does not wait for more of them.
    mutating func skip(to number: Int64) {
        guard let next, number > next else { return }
        while let first, first < number { remove(first) }
        self.next = number
        end = max(end, number)
    }

    @discardableResult
    private mutating func remove(_ number: Int64) -> IncomingPacket? {
        present.remove(number)
        markers.remove(number)
        starts.remove(number)
        return waiting.removeValue(forKey: number)
    }

    /// The number of the first waiting packet.
    var first: Int64? { first(of: present) }

    /// The number of the first packet that begins a keyframe.
    var firstStart: Int64? { first(of: starts) }

    private func first(of set: SequenceSet) -> Int64? {
        next.flatMap { next in
            let number = set.first(from: next, before: end)
            return number < end ? number : nil
        }
    }

    /// The start of the keyframe that contains a packet, if all packets of the keyframe are there.
    func keyframe(around number: Int64) -> Int64? {
        guard let next, let start = starts.last(through: number, from: next) else { return nil }
        let last = markers.first(from: start, before: end)
        let isWhole = last < present.first(from: start, before: end, isAbsent: true)
        return isWhole && last >= number ? start : nil
    }
}
