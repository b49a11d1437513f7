import TestSupport
import Testing
import Time

@testable import RTP

extension SenderModel {
    /// Writes all that may leave, and checks each packet against the record.
    mutating func drain() throws {
        let before = written
        while true {
            catchUp()
            let expected = expected()
            var bytes: [UInt8] = []
            guard sender.writeNext(at: now, to: &bytes) else {
                #expect(bytes.isEmpty)
                break
            }
            written += 1
            switch try #require(expected) {
            case .new(let index): try check(new: bytes, index)
            case .again(let index): try check(again: bytes, index)
            }
        }
        try checkReport()
        #expect(stream.statistics.skips == skips)
        let waits = expected() != nil
        let deadline = sender.nextDeadline
        if waits { #expect(deadline != nil) }
        if let deadline, !isToBeAsked { #expect(deadline > now, "served at once: \(written - before) packets") }
    }

    /// Whether it waits for its driver to ask whether it wants a keyframe, or is lost.
    var isToBeAsked: Bool { wantsKeyframe && mayAsk || sender.isLost(at: now) }

    private mutating func check(new bytes: [UInt8], _ index: Int) throws {
        let packet = try RTPPacket(parsing: bytes)
        let record = archive[index]
        if sent.isEmpty || start == index { #expect(keyframe?.index == index, "a stream begins with a keyframe") }
        #expect(sent[index] == nil)
        #expect(packet.payload == record.payload)
        let first = packet.header.sequenceNumber
        if number == nil { numberOffset = first &- UInt16(truncatingIfNeeded: index) }
        let offset = timestampOffset ?? packet.header.timestamp &- UInt32(truncatingIfNeeded: record.ticks)
        timestampOffset = offset
        #expect(
            packet.header
                == RTPHeader(
                    marker: record.isLast,
                    payloadType: 96,
                    sequenceNumber: number ?? first,
                    timestamp: offset &+ UInt32(truncatingIfNeeded: record.ticks),
                    ssrc: stream.ssrc
                )
        )
        var elements: [UInt8: [UInt8]] = [:]
        if let identifier = parameters.extensions.mid, 1...16 ~= parameters.mid.utf8.count, !hasReported {
            elements[identifier] = Array(parameters.mid.utf8)
        }
        if let identifier = parameters.extensions.playoutDelay, record.isFirst { elements[identifier] = [0, 0, 0] }
        if let identifier = parameters.extensions.captureTime, record.isFirst {
            let time = clock.ntpTime(at: record.capturedAt).rawValue
            elements[identifier] = withUnsafeBytes(of: time.bigEndian) { Array($0) }
        }
        if let identifier = parameters.extensions.colourSpace, record.isLast, record.frame.keyframe != nil {
            elements[identifier] = [1, 1, 6, 0x1A]
        }
        #expect(extensionElements(of: bytes) == elements)
        sent[index] = bytes
        number = first &+ 1
        octets += packet.payload.count
        place = .at(index + 1)
        if keyframe?.index == index {
            wantsKeyframe = false
            isBeingSent = true
        }
        if record.isLast, isBeingSent {
            isBeingSent = false
            awaitedUntil = now + (sender.roundTripTime ?? .milliseconds(100))
        }
        fill(record.payload.count + 30)
    }

    private mutating func check(again bytes: [UInt8], _ index: Int) throws {
        let original = try #require(sent[index], "only what was sent is sent again")
        pending.removeFirst()
        repeatedAt[index] = now
        fill(archive[index].payload.count + 32)
        guard parameters.retransmissionPayloadType != nil else {
            #expect(bytes == original)
            return
        }
        let packet = try RTPPacket(parsing: bytes)
        let first = try RTPPacket(parsing: original)
        #expect(packet.payload == Array(original[2..<4]) + first.payload)
        #expect(
            packet.header
                == RTPHeader(
                    marker: first.header.marker,
                    payloadType: 97,
                    sequenceNumber: repairNumber ?? packet.header.sequenceNumber,
                    timestamp: first.header.timestamp,
                    ssrc: try #require(stream.retransmissionSSRC)
                )
        )
        repairNumber = packet.header.sequenceNumber &+ 1
    }

    /// In no window of time leaves more than the burst and what the rate gives.
    private mutating func fill(_ size: Int) {
        level = max(0, level - (now - levelAt).seconds * Double(pace.rate) / 8) + Double(size)
        levelAt = now
        #expect(level <= Double(pace.burst) + 16)
    }

    private mutating func checkReport() throws {
        var bytes: [UInt8] = []
        guard sender.writeReport(at: now, to: &bytes) else {
            #expect(bytes.isEmpty)
            return
        }
        written += 1
        let packets = try RTCPPacket.parse(bytes)
        let offset = try #require(timestampOffset)
        let report = SenderReport(
            ssrc: stream.ssrc,
            ntpTime: clock.ntpTime(at: now),
            rtpTimestamp: offset &+ UInt32(truncatingIfNeeded: RTPStream.ticks(now, 90_000)),
            packetCount: UInt32(sent.count),
            octetCount: UInt32(octets)
        )
        #expect(packets == [.senderReport(report)])
        #expect(CanonicalName.all(in: bytes) == [CanonicalName(ssrc: stream.ssrc, name: sender.canonicalName)])
    }
}
