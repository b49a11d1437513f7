/// The name of a source in a description of RTCP (RFC 3550 §6.5).
package struct CanonicalName: Equatable, Sendable {
    package let ssrc: UInt32
    package let name: String

    package init(ssrc: UInt32, name: String) { (self.ssrc, self.name) = (ssrc, name) }

    /// All of a datagram whose packets are well-formed. A source with another item than its name gives nothing.
    package static func all(in datagram: [UInt8]) -> [CanonicalName] {
        var names: [CanonicalName] = []
        var start = 0
        while start + 4 <= datagram.count {
            let end = start + 4 + 4 * (Int(datagram[start + 2]) << 8 | Int(datagram[start + 3]))
            var place = start + 4
            for _ in 0..<(datagram[start + 1] == 202 ? datagram[start] & 0x1F : 0) {
                let ssrc = datagram[place..<place + 4].reduce(0) { $0 << 8 | UInt32($1) }
                let text = datagram[place + 6..<place + 6 + Int(datagram[place + 5])]
                if datagram[place + 4] == 1, datagram[text.endIndex] == 0 {
                    names.append(CanonicalName(ssrc: ssrc, name: String(decoding: text, as: UTF8.self)))
                }
                // The end of the items, and padding to a word.
                place = start + (text.endIndex - start + 4) / 4 * 4
            }
            start = end
        }
        return names
    }
}
