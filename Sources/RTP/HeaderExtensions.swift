/// The header extensions that a receiver understands, by the receiver's identifiers (RFC 8285 §5). Identifiers are
/// 1…14, so the one-byte form holds them all.
package struct HeaderExtensions: Equatable, Sendable {
    package static let identifiers: ClosedRange<UInt8> = 1...14

    /// urn:ietf:params:rtp-hdrext:sdes:mid (RFC 9143 §15.2): the media description of a packet.
    package var mid: UInt8?
    /// http://www.webrtc.org/experiments/rtp-hdrext/playout-delay
    package var playoutDelay: UInt8?
    /// http://www.webrtc.org/experiments/rtp-hdrext/abs-capture-time
    package var captureTime: UInt8?
    /// http://www.ietf.org/id/draft-holmer-rmcat-transport-wide-cc-extensions-01
    package var transportNumber: UInt8?
    /// https://aomediacodec.github.io/av1-rtp-spec/#dependency-descriptor-rtp-header-extension; sent with AV1.
    package var dependencyDescriptor: UInt8?
    /// urn:ietf:params:rtp-hdrext:ssrc-audio-level (RFC 6464): the loudness of a packet of sound. Read, never sent.
    package var soundLevel: UInt8?
    /// http://www.webrtc.org/experiments/rtp-hdrext/color-space: without it, some receivers guess the matrix of VP8 by the size.
    package var colourSpace: UInt8?

    package static let empty = HeaderExtensions()
}

/// The values of one packet's header extensions; nil leaves an extension out.
struct HeaderExtensionValues {
    /// Left out if it has more than 16 bytes. It would not fit, and a part of it would name another description.
    var mid: String?
    /// The receiver should show a picture as soon as it can.
    var asksForImmediatePlayout = false
    /// When the picture was on the screen, on the sender's clock.
    var captureTime: NTPTime?
    /// One more with each packet of all streams to the peer, modulo 65536.
    var transportNumber: UInt16?
    var dependency: DependencyDescriptor?
    var tellsColourSpace = false

    /// Bytes that extensions may take at most: the header, a mid of 16 bytes, playout delay, capture time, transport-wide
    /// number, dependency descriptor and colour space.
    static let maximumSize = 4 + (17 + 4 + 9 + 3 + (1 + DependencyDescriptor.longest) + 5 + 3) / 4 * 4

    /// Numbers of ITU-T H.273: primaries and transfer of BT.709, the matrix of BT.601. Then limited range, and chroma
    /// in the middle of its four pixels, in bits 4 to 5, 2 to 3 and 0 to 1.
    private static let colourSpace: [UInt8] = [1, 1, 6, 1 << 4 | 2 << 2 | 2]

    /// Appends the extension header and its elements, if there are any (RFC 8285 §4.2).
    ///
    /// - Returns: whether there are any.
    func write(_ identifiers: HeaderExtensions, to packet: inout [UInt8]) -> Bool {
        let start = packet.count
        packet.append(bigEndian: 0xBEDE_0000 as UInt32)
        if let identifier = identifiers.mid, let text = mid?.utf8, 1...16 ~= text.count {
            packet.append(identifier << 4 | UInt8(text.count - 1))
            packet.append(contentsOf: text)
        }
        if let identifier = identifiers.playoutDelay, asksForImmediatePlayout {
            // 12 bits of minimum and 12 of maximum delay, in 10 ms: none and none.
            packet.append(identifier << 4 | 2)
            packet.append(contentsOf: [0, 0, 0])
        }
        if let identifier = identifiers.captureTime, let captureTime {
            packet.append(identifier << 4 | 7)
            packet.append(bigEndian: captureTime.rawValue)
        }
        if let identifier = identifiers.transportNumber, let transportNumber {
            packet.append(identifier << 4 | 1)
            packet.append(bigEndian: transportNumber)
        }
        if let identifier = identifiers.dependencyDescriptor, let dependency {
            let size = dependency.structure == nil ? 3 : DependencyDescriptor.longest
            packet.append(identifier << 4 | UInt8(size - 1))
            dependency.write(to: &packet)
        }
        if let identifier = identifiers.colourSpace, tellsColourSpace {
            packet.append(identifier << 4 | UInt8(Self.colourSpace.count - 1))
            packet.append(contentsOf: Self.colourSpace)
        }
        let length = packet.count - start - 4
        if length == 0 {
            packet.removeLast(4)
            return false
        }
        let words = (length + 3) / 4
        packet.append(contentsOf: repeatElement(0, count: words * 4 - length))
        packet[start + 3] = UInt8(words)
        return true
    }
}
