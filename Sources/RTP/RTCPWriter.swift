extension SenderReport {
    /// Appends the packet, without report blocks: this side receives no stream.
    package func write(to datagram: inout [UInt8]) {
        RTCPPacket.write(kind: 200, count: 0, to: &datagram) { body in
            body.append(bigEndian: ssrc)
            body.append(bigEndian: ntpTime.rawValue)
            body.append(bigEndian: rtpTimestamp)
            body.append(bigEndian: packetCount)
            body.append(bigEndian: octetCount)
        }
    }
}

extension ReceiverReport {
    /// Appends the packet, with 31 blocks at the most.
    package func write(to datagram: inout [UInt8]) {
        RTCPPacket.write(kind: 201, count: reports.count, to: &datagram) { body in
            body.append(bigEndian: ssrc)
            for report in reports { report.write(to: &body) }
        }
    }
}

extension ReportBlock {
    fileprivate func write(to body: inout [UInt8]) {
        body.append(bigEndian: ssrc)
        body.append(bigEndian: UInt32(fractionLost) << 24 | UInt32(bitPattern: cumulativeLost) & 0xFF_FFFF)
        body.append(bigEndian: highestSequenceNumber)
        body.append(bigEndian: jitter)
        body.append(bigEndian: lastSenderReport)
        body.append(bigEndian: delaySinceLastSenderReport)
    }
}

extension GenericNACK {
    /// Appends the packet. The numbers are in order. Each field holds one number, and any of the 16 that follow it.
    package func write(to datagram: inout [UInt8]) {
        RTCPPacket.write(kind: 205, count: 1, to: &datagram) { body in
            body.append(bigEndian: sender)
            body.append(bigEndian: media)
            var rest = lost[...]
            while let first = rest.popFirst() {
                var following: UInt16 = 0
                while let number = rest.first, 1...16 ~= number &- first {
                    following |= 1 << (number &- first &- 1)
                    rest.removeFirst()
                }
                body.append(bigEndian: first)
                body.append(bigEndian: following)
            }
        }
    }
}

extension PictureLossIndication {
    /// Appends the packet.
    package func write(to datagram: inout [UInt8]) {
        RTCPPacket.write(kind: 206, count: 1, to: &datagram) { body in
            body.append(bigEndian: sender)
            body.append(bigEndian: media)
        }
    }
}

extension RTCPPacket {
    /// Appends a description with one canonical name for all sources, at most 31 (RFC 3550 §6.5). The name is cut after
    /// 255 bytes.
    package static func write(canonicalName: String, of ssrcs: [UInt32], to datagram: inout [UInt8]) {
        write(kind: 202, count: ssrcs.count, to: &datagram) { body in
            let text = canonicalName.utf8.prefix(255)
            for ssrc in ssrcs {
                let start = body.count
                body.append(bigEndian: ssrc)
                body.append(1)
                body.append(UInt8(text.count))
                body.append(contentsOf: text)
                // The end of the items, and padding to a 32-bit boundary.
                repeat { body.append(0) } while (body.count - start) % 4 != 0
            }
        }
    }

    /// Appends the goodbye of sources, at most 31.
    package static func write(goodbyeOf ssrcs: [UInt32], to datagram: inout [UInt8]) {
        write(kind: 203, count: ssrcs.count, to: &datagram) { body in
            for ssrc in ssrcs { body.append(bigEndian: ssrc) }
        }
    }

    /// Appends the common header and the body, with padding to a multiple of four bytes (RFC 3550 §6.4.1).
    static func write(
        kind: UInt8,
        count: Int,
        to datagram: inout [UInt8],
        body: (inout [UInt8]) -> Void
    ) {
        precondition(count <= 31)
        datagram.append(0x80 | UInt8(count))
        datagram.append(kind)
        let length = datagram.count
        datagram.append(bigEndian: 0 as UInt16)
        body(&datagram)
        let padding = (4 - (datagram.count - length - 2) % 4) % 4
        if padding > 0 {
            datagram[length - 2] |= 0x20
            datagram.append(contentsOf: repeatElement(0, count: padding - 1))
            datagram.append(UInt8(padding))
        }
        let words = (datagram.count - length - 2) / 4
        datagram[length] = UInt8(truncatingIfNeeded: words >> 8)
        datagram[length + 1] = UInt8(truncatingIfNeeded: words)
    }
}
