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

extension [SourceDescription] {
    /// Appends one packet with a chunk for each source, at most 31. Names are cut after 255 bytes.
    package func write(to datagram: inout [UInt8]) {
        RTCPPacket.write(kind: 202, count: count, to: &datagram) { body in
            for chunk in self {
                let start = body.count
                body.append(bigEndian: chunk.ssrc)
                if let canonicalName = chunk.canonicalName {
                    let text = canonicalName.utf8.prefix(255)
                    body.append(1)
                    body.append(UInt8(text.count))
                    body.append(contentsOf: text)
                }
                // The end of the items, and padding to a 32-bit boundary.
                repeat { body.append(0) } while (body.count - start) % 4 != 0
            }
        }
    }
}

extension Goodbye {
    /// Appends the packet.
    package func write(to datagram: inout [UInt8]) {
        RTCPPacket.write(kind: 203, count: ssrcs.count, to: &datagram) { body in
            for ssrc in ssrcs { body.append(bigEndian: ssrc) }
        }
    }
}

extension RTCPPacket {
    /// Appends the common header and the body, whose length must be a multiple of four.
    fileprivate static func write(
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
        let words = (datagram.count - length - 2) / 4
        datagram[length] = UInt8(truncatingIfNeeded: words >> 8)
        datagram[length + 1] = UInt8(truncatingIfNeeded: words)
    }
}
