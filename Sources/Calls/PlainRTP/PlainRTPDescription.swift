import Media
import Posix
import RTP

extension PlainRTPSession.Configuration {
    /// The session description (RFC 8866), for a receiver to open.
    ///
    /// - Parameters:
    ///   - number: the session's, by which its sender tells it from others.
    ///   - receiver: for RTP; RTCP goes to the next port.
    ///   - frameRate: pictures a second.
    func description(
        _ number: UInt32,
        for receiver: SocketAddress,
        from sender: SocketAddress,
        frameRate: Int
    ) -> String {
        // RFC 8866 §5.7: an IPv4 group carries its scope; an IPv6 group has it in the address. One hop is the system's default.
        let scope = receiver.isMulticast && !receiver.isIPv6 ? "/1" : ""
        let payloadType = Self.payloadType
        var lines = [
            "v=0",
            "o=- \(number) 1 \(sender.network)",
            "s=Oriel",
            "c=\(receiver.network)\(scope)",
            "t=0 0",
            "m=video \(receiver.port) RTP/AVPF \(payloadType)",
            // RFC 8866 §5.8: kilobits a second.
            "b=AS:\((targetBitrate + 999) / 1000)",
            "a=rtpmap:\(payloadType) \(StreamCodec.video(codec).encoding)",
        ]
        if let formatParameters { lines.append("a=fmtp:\(payloadType) \(formatParameters)") }
        lines += ["nack", "nack pli", "ccm fir"].map { "a=rtcp-fb:\(payloadType) \($0)" }
        lines.append("a=extmap:\(Self.colourSpace) http://www.webrtc.org/experiments/rtp-hdrext/color-space")
        lines += ["a=framerate:\(frameRate)", "a=recvonly"]
        if hasSound {
            let payloadType = PlainRTPSound.payloadType
            lines += [
                "m=audio \(PlainRTPSound.address(besides: receiver).port) RTP/AVPF \(payloadType)",
                "a=rtpmap:\(payloadType) \(StreamCodec.opus.encoding)",
                "a=fmtp:\(payloadType) \(Self.soundParameters)", "a=rtcp-fb:\(payloadType) nack", "a=recvonly",
            ]
        }
        return lines.map { $0 + "\r\n" }.joined()
    }

    /// The identifier of the header extension that tells the matrix.
    static let colourSpace: UInt8 = 1

    /// The parameters in the `fmtp` line of sound (RFC 7587 §6.1).
    static let soundParameters = "sprop-stereo=1;stereo=1;useinbandfec=1"

    /// The parameters in the `fmtp` line; nil for none.
    var formatParameters: String? {
        switch codec {
        case .vp8: nil
        case .vp9: "profile-id=0"
        case .av1: "profile=0"
        }
    }
}

extension SocketAddress {
    fileprivate var network: String { "IN \(isIPv6 ? "IP6" : "IP4") \(host)" }
}
