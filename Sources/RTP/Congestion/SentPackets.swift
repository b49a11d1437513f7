import Time

/// The sent packets of all streams to one peer, by their transport-wide numbers, until each has arrived or is given up.
struct SentPackets: Sendable {
    struct Packet: Sendable {
        /// Counted from the first packet to the peer, which is 0.
        var number: UInt64
        var sentAt: Instant
        /// Bytes of the datagram, without the headers of UDP and IP.
        var size: Int
        /// The number of the first packet of its train.
        var train: UInt64
        fileprivate(set) var fate: Fate
    }

    enum Fate: Sendable {
        case inFlight, arrived, lost
    }

    /// As many packets of 1200 bytes as 20 Mb/s carry in two seconds.
    static let capacity = 4096
    /// A packet is lost when one has arrived that was sent at least this many packets later (RFC 9002 §6.1.1), and this
    /// much time later (§6.1.2).
    private static let reorderedPackets: UInt64 = 3
    private static let reorderingTime = Duration.milliseconds(10)

    private var ring: [Packet] = []
    /// The number of the first packet that is kept track of.
    private let start: UInt64
    /// The number of the next packet.
    private(set) var end: UInt64
    /// Packets before this one are no longer in flight.
    private var settled: UInt64
    /// The last sent packet among those that arrived.
    private(set) var newest: Packet?
    /// Bytes of the packets that may still arrive.
    private(set) var inFlight = 0

    /// - Parameter start: the number of the first packet.
    init(from start: UInt64 = 0) {
        (self.start, end, settled) = (start, start, start)
        ring.reserveCapacity(Self.capacity)
    }

    private func slot(of number: UInt64) -> Int { Int((number - start) % UInt64(Self.capacity)) }

    /// Records a packet that leaves.
    ///
    /// - Parameter train: the number of the first packet of its train.
    mutating func add(size: Int, train: UInt64, at now: Instant) {
        let packet = Packet(number: end, sentAt: now, size: size, train: train, fate: .inFlight)
        let slot = slot(of: end)
        if slot == ring.count {
            ring.append(packet)
        } else {
            if ring[slot].fate == .inFlight { inFlight -= ring[slot].size }
            ring[slot] = packet
        }
        inFlight += size
        end += 1
    }

    /// The packet of a number in the peer's feedback; nil if none was sent, or it is long gone.
    subscript(number: UInt16) -> Packet? {
        let distance = UInt64(UInt16(truncatingIfNeeded: end &- 1) &- number)
        guard distance < min(end - start, UInt64(Self.capacity)) else { return nil }
        return ring[slot(of: end - 1 - distance)]
    }

    /// Records an arrival. Returns false if it is known already.
    mutating func noteArrival(of packet: Packet) -> Bool {
        let slot = slot(of: packet.number)
        guard ring[slot].number == packet.number, ring[slot].fate != .arrived else { return false }
        if ring[slot].fate == .inFlight { inFlight -= packet.size }
        ring[slot].fate = .arrived
        if newest.map({ packet.number > $0.number }) ?? true { newest = packet }
        return true
    }

    /// Gives up the packets that later ones have overtaken for too long.
    ///
    /// - Parameter body: gets each of them once.
    mutating func giveUpOvertaken(_ body: (Packet) -> Void) {
        guard let newest else { return }
        settled = max(settled, end - min(end - start, UInt64(Self.capacity)))
        while settled < end {
            let slot = slot(of: settled)
            if ring[slot].fate == .inFlight {
                guard settled + Self.reorderedPackets <= newest.number,
                    newest.sentAt - ring[slot].sentAt >= Self.reorderingTime
                else { return }
                ring[slot].fate = .lost
                inFlight -= ring[slot].size
                body(ring[slot])
            }
            settled += 1
        }
    }
}
