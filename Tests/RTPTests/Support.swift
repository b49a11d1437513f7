import Testing

@testable import RTP

/// `#expect` for calls that change a value, which the macro cannot take.
func expect(_ condition: Bool, location: SourceLocation = #_sourceLocation) {
    #expect(condition, sourceLocation: location)
}

/// Elements of a packet's one-byte header extension, by identifier (RFC 8285 §4.2).
func extensionElements(of packet: [UInt8]) -> [UInt8: [UInt8]] {
    guard packet[0] & 0x10 != 0 else { return [:] }
    #expect(packet[12...13] == [0xBE, 0xDE])
    var elements: [UInt8: [UInt8]] = [:]
    var index = 16
    let end = 16 + (Int(packet[14]) << 8 | Int(packet[15])) * 4
    while index < end {
        guard packet[index] != 0 else {
            index += 1
            continue
        }
        let length = Int(packet[index] & 0x0F) + 1
        elements[packet[index] >> 4] = Array(packet[index + 1...index + length])
        index += 1 + length
    }
    #expect(index == end)
    return elements
}

extension TransportFeedback {
    /// - Parameter times: when each packet has arrived; nil if it has not.
    init(sender: UInt32, media: UInt32, number: UInt8, first: UInt16, times: [UInt32?]) {
        let arrivals = times.enumerated().compactMap { offset, time in
            time.map { Arrival(number: first &+ UInt16(offset), time: $0) }
        }
        self.init(sender: sender, media: media, number: number, first: first, count: times.count, arrivals: arrivals)
    }

    /// When each packet has arrived; nil if it has not.
    var times: [UInt32?] {
        var times = [UInt32?](repeating: nil, count: count)
        for arrival in arrivals { times[Int(arrival.number &- first)] = arrival.time }
        return times
    }
}
