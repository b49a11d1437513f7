extension TransportFeedback {
    /// Whether a report can hold an arrival, in ticks, after another one: the step has 16 bits.
    static func canTell(_ time: UInt32, after other: UInt32) -> Bool {
        Int16(exactly: Int32(bitPattern: time &- other)) != nil
    }

    /// Appends the packet. Each arrival can follow the one before (`canTell`).
    package func write(to datagram: inout [UInt8]) {
        // The first step counts from there, and has 8 bits.
        let reference = (arrivals.first?.time ?? 0) & ~0xFF
        var time = reference
        var statuses = [UInt8](repeating: 0, count: count)
        var deltas: [UInt8] = []
        for arrival in arrivals {
            let place = Int(arrival.number &- first)
            let step = Int32(bitPattern: arrival.time &- time)
            time = arrival.time
            if let small = UInt8(exactly: step) {
                statuses[place] = 1
                deltas.append(small)
            } else {
                statuses[place] = 2
                deltas.append(bigEndian: UInt16(truncatingIfNeeded: step))
            }
        }
        RTCPPacket.write(kind: 205, count: 15, to: &datagram) { body in
            body.append(bigEndian: sender)
            body.append(bigEndian: media)
            body.append(bigEndian: first)
            body.append(bigEndian: UInt16(count))
            body.append(bigEndian: reference | UInt32(number))
            for chunk in Self.chunks(of: statuses) { body.append(bigEndian: chunk) }
            body += deltas
        }
    }

    /// Runs of one status (§3.1.3) where that is no longer than seven statuses of two bits (§3.1.4).
    private static func chunks(of statuses: [UInt8]) -> [UInt16] {
        var chunks: [UInt16] = []
        var rest = statuses[...]
        while let status = rest.first {
            let run = rest.prefix { $0 == status }.count
            if run >= 7 || run == rest.count {
                let length = min(run, 0x1FFF)
                chunks.append(UInt16(status) << 13 | UInt16(length))
                rest = rest.dropFirst(length)
            } else {
                let pairs = rest.prefix(7)
                var chunk: UInt16 = 0xC000
                for (place, status) in pairs.enumerated() { chunk |= UInt16(status) << (12 - 2 * place) }
                chunks.append(chunk)
                rest = rest.dropFirst(7)
            }
        }
        return chunks
    }
}
