/// Packets of Opus in a file (RFC 7845), as opus-tools and ffmpeg write and read them.
package struct OggOpus: Equatable, Sendable {
    package struct Malformed: Error {}

    /// Of the original sound.
    package var channels: Int
    /// Samples at the beginning that are left out.
    package var preSkip: Int
    package var packets: [[UInt8]]

    package init(channels: Int, preSkip: Int, packets: [[UInt8]]) {
        (self.channels, self.preSkip, self.packets) = (channels, preSkip, packets)
    }

    /// Takes the packets out of a file with one stream.
    package init(parsing file: [UInt8]) throws {
        var (packets, part, position) = ([[UInt8]](), [UInt8](), 0)
        while position < file.count {
            guard file.count - position >= 27, file[position..<position + 4].elementsEqual("OggS".utf8) else {
                throw Malformed()
            }
            let count = Int(file[position + 26])
            let table = position + 27
            guard file.count >= table + count else { throw Malformed() }
            position = table + count
            for index in 0..<count {
                let size = Int(file[table + index])
                guard file.count >= position + size else { throw Malformed() }
                part += file[position..<position + size]
                position += size
                // A lace of 255 bytes goes on in the next.
                if size < 255 {
                    packets.append(part)
                    part.removeAll()
                }
            }
        }
        guard packets.count >= 2, packets[0].count >= 19, packets[0].prefix(8).elementsEqual("OpusHead".utf8) else {
            throw Malformed()
        }
        let head = packets[0]
        self.init(
            channels: Int(head[9]),
            preSkip: Int(head[10]) | Int(head[11]) << 8,
            packets: Array(packets.dropFirst(2))
        )
    }

    /// The file, of packets of 20 ms, each on a page of its own.
    package var file: [UInt8] {
        let head = Array("OpusHead".utf8) + [1, UInt8(channels)] + bytes(preSkip, 2) + bytes(48_000, 4) + [0, 0, 0]
        let tags = Array("OpusTags".utf8) + bytes(0, 8)
        var pages = page(head, number: 0, samples: 0, flags: 2) + page(tags, number: 1, samples: 0, flags: 0)
        for (index, packet) in packets.enumerated() {
            let flags: UInt8 = index == packets.count - 1 ? 4 : 0
            pages += page(packet, number: index + 2, samples: (index + 1) * 960, flags: flags)
        }
        return pages
    }

    private func page(_ packet: [UInt8], number: Int, samples: Int, flags: UInt8) -> [UInt8] {
        let laces = [UInt8](repeating: 255, count: packet.count / 255) + [UInt8(packet.count % 255)]
        var page = Array("OggS".utf8) + [0, flags] + bytes(samples, 8) + bytes(1, 4) + bytes(number, 4)
        page += bytes(0, 4) + [UInt8(laces.count)] + laces + packet
        page.replaceSubrange(22..<26, with: bytes(Int(checksum(page)), 4))
        return page
    }

    private func bytes(_ value: Int, _ count: Int) -> [UInt8] {
        (0..<count).map { UInt8(truncatingIfNeeded: value >> (8 * $0)) }
    }

    /// RFC 3533 §6: of the polynomial 0x04C11DB7, neither reflected nor inverted.
    private func checksum(_ page: [UInt8]) -> UInt32 {
        page.reduce(0) { sum, byte in
            (0..<8).reduce(sum ^ UInt32(byte) << 24) { sum, _ in sum << 1 ^ (sum >> 31 == 1 ? 0x04C1_1DB7 : 0) }
        }
    }
}
