import Media
import Posix
import RTP

extension PlainRTPSession {
    /// The session description (RFC 8866), for a receiver to open.
    ///
    /// - Parameters:
    ///   - receiver: where the receiver listens; RTCP goes to the next port.
    ///   - sender: where the packets come from.
    ///   - multicastTTL: routers that packets to an IPv4 group may pass.
    ///   - frameRate: pictures a second; nil says nothing.
    func description(
        for receiver: SocketAddress,
        from sender: SocketAddress,
        multicastTTL: UInt8,
        frameRate: Int?
    ) -> String {
        let payloadType = configuration.payloadType
        // RFC 8866 §5.7: an IPv4 group carries its scope; an IPv6 group has it in the address.
        let scope = receiver.isMulticast && !receiver.isIPv6 ? "/\(multicastTTL)" : ""
        var lines = [
            "v=0",
            "o=- \(ssrc) 1 \(sender.network)",
            "s=Oriel",
            "c=\(receiver.network)\(scope)",
            "t=0 0",
            "m=video \(receiver.port) RTP/AVPF \(payloadType)",
            // RFC 8866 §5.8: kilobits a second.
            "b=AS:\((configuration.targetBitrate + 999) / 1000)",
            "a=rtpmap:\(payloadType) \(StreamCodec.video(configuration.codec).encoding)",
        ]
        switch configuration.codec {
        case .vp8: break
        case .vp9: lines.append("a=fmtp:\(payloadType) profile-id=0")
        case .av1: lines.append("a=fmtp:\(payloadType) profile=0")
        }
        lines += ["nack", "nack pli", "ccm fir"].map { "a=rtcp-fb:\(payloadType) \($0)" }
        if let frameRate { lines.append("a=framerate:\(frameRate)") }
        lines.append("a=recvonly")
        return lines.map { $0 + "\r\n" }.joined()
    }
}

extension SocketAddress {
    fileprivate var network: String { "IN \(isIPv6 ? "IP6" : "IP4") \(host)" }
}
