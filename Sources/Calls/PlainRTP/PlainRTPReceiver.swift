package import Media
import Posix

/// Programs that receive plain RTP, with the configuration for each of them.
package enum PlainRTPReceiver: String, CaseIterable, Sendable {
    /// A mountpoint of its Streaming plugin.
    case janus
    case ffmpeg, gstreamer, vlc
    case mediamtx

    /// Lines for the program's configuration, or for a shell on its host, with which it receives a call to that host.
    package func instructions(
        for destination: RTPDestination,
        _ rendition: Rendition,
        hasSound: Bool = false
    ) throws(CallEnd) -> String {
        let address = try destination.resolve()
        let configuration = PlainRTPSession.Configuration(
            codec: rendition.codec,
            targetBitrate: UInt64(rendition.bitrate),
            // MediaMTX listens at one port.
            hasSound: hasSound && self != .mediamtx && PlainRTPSound.fits(besides: address.port, from: nil)
        )
        let description = configuration.description(
            1,
            for: address,
            from: address,
            frameRate: rendition.framesPerSecond
        )
        .split(whereSeparator: \.isNewline).joined(separator: "\n")
        switch self {
        case .janus: return Self.mountpoint(address, configuration)
        case .mediamtx: return Self.path(address, description, isWithoutSound: hasSound)
        case .ffmpeg:
            return Self.script(
                description,
                "ffplay -protocol_whitelist file,udp,rtp -flags low_delay -fpsprobesize 0 screen.sdp"
            )
        case .gstreamer:
            let demux = "gst-launch-1.0 filesrc location=screen.sdp ! sdpdemux latency=20"
            let (picture, sound) = (
                "decodebin ! videoconvert ! autovideosink", "decodebin ! audioconvert ! autoaudiosink"
            )
            return Self.script(
                description,
                configuration.hasSound
                    ? "\(demux) name=rtp rtp.stream_0 ! \(picture) rtp.stream_1 ! \(sound)" : "\(demux) ! \(picture)"
            )
        case .vlc:
            // Many builds of VLC have no RTP with dynamic payload types of their own.
            return Self.script(
                description,
                """
                ffmpeg -loglevel error -protocol_whitelist file,udp,rtp -fpsprobesize 0 -i screen.sdp \
                -c copy -flush_packets 1 -f nut - | cvlc --demux=avformat --file-caching=100 -
                """
            )
        }
    }

    private static func script(_ description: String, _ command: String) -> String {
        """
        cat > screen.sdp <<'END'
        \(description)
        END
        \(command)

        """
    }

    /// As janus.plugin.streaming.jcfg of Janus 1.1 has it.
    private static func mountpoint(_ address: SocketAddress, _ configuration: PlainRTPSession.Configuration) -> String {
        let codec = configuration.codec.rawValue.lowercased()
        let format = configuration.formatParameters.map { " fmtp = \"\($0)\"" } ?? ""
        let group = address.isMulticast ? " mcast = \"\(address.host)\"" : ""
        return """
            # A mountpoint in janus.plugin.streaming.jcfg; its viewers watch number 1.
            screen: {
              type = "rtp"
              id = 1
              description = "Oriel"
              media = (
                {
                  type = "video" mid = "v" label = "screen" port = \(address.port) rtcpport = \(address.port + 1)\(group)
                  pt = \(PlainRTPSession.Configuration.payloadType) codec = "\(codec)"\(format)
                }\(configuration.hasSound ? ",\n" + sound(address, group) : "")
              )
            }

            """
    }

    private static func sound(_ address: SocketAddress, _ group: String) -> String {
        let port = PlainRTPSound.address(besides: address).port
        return """
                {
                  type = "audio" mid = "a" label = "sound" port = \(port) rtcpport = \(port + 1)\(group)
                  pt = \(PlainRTPSound.payloadType) codec = "opus" fmtp = "\(PlainRTPSession.Configuration.soundParameters)"
                }
            """
    }

    /// As mediamtx.yml has it (docs/2-publish/12-rtp.md of MediaMTX).
    private static func path(_ address: SocketAddress, _ description: String, isWithoutSound: Bool) -> String {
        let host = address.isIPv6 ? "[\(address.host)]" : address.host
        let lines = description.split(separator: "\n").map { "      \($0)" }.joined(separator: "\n")
        let note =
            isWithoutSound
            ? "\n# It takes one stream this way, so there is no sound: publish by whip+http://… for that." : ""
        return """
            # In mediamtx.yml. MediaMTX asks for no keyframes: --keyframe-interval says how long a viewer waits for one.\(note)
            paths:
              screen:
                source: udp+rtp://\(host):\(address.port)
                rtpSDP: |
            \(lines)

            """
    }
}
