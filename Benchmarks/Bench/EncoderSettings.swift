import Pixels

/// The settings of libvpx for all contenders: Oriel's own for VP8.
enum EncoderSettings {
    static let size = PixelSize(width: 1280, height: 720)
    static let bitrate = 2_500_000
    static let speed = -6
    static let quantizers = 8...56
    static let staticThreshold = 100
    static let undershoot = 100, overshoot = 15
    /// The decoder's buffer in milliseconds: its size, its level at the start, and the wished level.
    static let buffer = 720, bufferInitial = 500, bufferOptimal = 600

    /// Frames between keyframes: only the first is one, as for viewers that can request them.
    static let keyframeDistance = 9999
    /// VP8's version.
    static let profile = 0
    /// VP8_EFLAG_NO_REF_ARF and VP8_EFLAG_NO_UPD_ARF. ffmpeg gets them frame by frame from this filter.
    static let ffmpegFilter = "metadata=mode=add:key=vp8-flags:value=\(1 << 21 | 1 << 23)"

    /// Equal minimum and maximum rates make it constant. The wished level is always 5/6 of the buffer.
    static let ffmpeg: [String] = [
        "-c:v", "libvpx", "-pix_fmt", "yuv420p", "-deadline", "realtime", "-cpu-used", "\(speed)", "-threads", "1",
        "-b:v", "\(bitrate)", "-minrate", "\(bitrate)", "-maxrate", "\(bitrate)",
        "-bufsize", "\(bitrate / 1000 * buffer)", "-rc_init_occupancy", "\(bitrate / 1000 * bufferInitial)",
        "-qmin", "\(quantizers.lowerBound)", "-qmax", "\(quantizers.upperBound)",
        "-undershoot-pct", "\(undershoot)", "-overshoot-pct", "\(overshoot)", "-static-thresh", "\(staticThreshold)",
        "-g", "\(keyframeDistance)", "-profile:v", "\(profile)", "-lag-in-frames", "0", "-auto-alt-ref", "0",
        "-drop-threshold", "0",
    ]

    static let plainFFmpeg: [String] = [
        "-c:v", "libvpx", "-pix_fmt", "yuv420p", "-deadline", "realtime", "-cpu-used", "8", "-threads", "1",
        "-b:v", "\(bitrate)", "-minrate", "\(bitrate)", "-maxrate", "\(bitrate)", "-bufsize", "\(bitrate)",
        "-g", "\(keyframeDistance)", "-lag-in-frames", "0", "-auto-alt-ref", "0",
    ]

    static let gstreamer: [String] = [
        "vp8enc", "deadline=1", "cpu-used=\(speed)", "threads=1", "end-usage=cbr", "target-bitrate=\(bitrate)",
        "buffer-size=\(buffer)", "buffer-initial-size=\(bufferInitial)", "buffer-optimal-size=\(bufferOptimal)",
        "min-quantizer=\(quantizers.lowerBound)", "max-quantizer=\(quantizers.upperBound)",
        "undershoot=\(undershoot)", "overshoot=\(overshoot)", "static-threshold=\(staticThreshold)",
        "keyframe-max-dist=\(keyframeDistance)", "lag-in-frames=0", "dropframe-threshold=0",
        "!", "video/x-vp8,profile=(string)\(profile)",
    ]
}
