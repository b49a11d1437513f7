package import Media

/// The session description (RFC 8866) of one video stream over plain RTP, for a receiver to open.
package struct VideoDescription: Equatable, Sendable, CustomStringConvertible {
    package enum Address: Equatable, Sendable {
        /// In dotted decimal.
        case ipv4(String)
        /// In colon-separated hexadecimal, without brackets.
        case ipv6(String)
    }

    package var codec: VideoCodec
    /// 96…127.
    package var payloadType: UInt8
    /// Where the receiver listens.
    package var destination: Address
    /// 1…65534; RTCP goes to the next one.
    package var port: UInt16
    /// Routers a multicast packet may pass, for IPv4 groups.
    package var multicastTTL: UInt8
    /// Where the sender sits, for the `o=` line.
    package var origin: Address
    /// Any number that no other session of the origin has.
    package var sessionID: UInt32
    /// One line.
    package var name: String
    /// Bits a second; nil says nothing.
    package var bitrate: Int?
    /// Pictures a second; nil says nothing.
    package var frameRate: Int?

    package init(
        codec: VideoCodec,
        payloadType: UInt8,
        destination: Address,
        port: UInt16,
        multicastTTL: UInt8 = 1,
        origin: Address,
        sessionID: UInt32,
        name: String = "Oriel",
        bitrate: Int? = nil,
        frameRate: Int? = nil
    ) {
        self.codec = codec
        self.payloadType = payloadType
        self.destination = destination
        self.port = port
        self.multicastTTL = multicastTTL
        self.origin = origin
        self.sessionID = sessionID
        self.name = name
        self.bitrate = bitrate
        self.frameRate = frameRate
    }

    /// The text, each line ended by CR LF.
    package var description: String {
        var lines = [
            "v=0",
            "o=- \(sessionID) 1 \(origin.network)",
            "s=\(name.filter { !$0.isNewline })",
            "c=\(destination.network)\(multicastSuffix)",
            "t=0 0",
            "m=video \(port) RTP/AVPF \(payloadType)",
        ]
        // RFC 8866 §5.8: kilobits a second.
        if let bitrate { lines.append("b=AS:\((bitrate + 999) / 1000)") }
        lines.append("a=rtpmap:\(payloadType) \(codec.rawValue)/\(VideoCodec.clockRate)")
        switch codec {
        case .vp8: break
        case .vp9: lines.append("a=fmtp:\(payloadType) profile-id=0")
        case .av1: lines.append("a=fmtp:\(payloadType) profile=0")
        }
        lines.append("a=rtcp-fb:\(payloadType) nack pli")
        lines.append("a=rtcp-fb:\(payloadType) ccm fir")
        if let frameRate { lines.append("a=framerate:\(frameRate)") }
        lines.append("a=recvonly")
        return lines.map { $0 + "\r\n" }.joined()
    }

    /// RFC 8866 §5.7: an IPv4 group carries its scope; an IPv6 group has it in the address.
    private var multicastSuffix: String {
        guard case .ipv4(let text) = destination, let first = UInt8(text.prefix { $0 != "." }),
            224..<240 ~= first
        else { return "" }
        return "/\(multicastTTL)"
    }
}

extension VideoDescription.Address {
    fileprivate var network: String {
        switch self {
        case .ipv4(let text): "IN IP4 \(text)"
        case .ipv6(let text): "IN IP6 \(text)"
        }
    }
}
