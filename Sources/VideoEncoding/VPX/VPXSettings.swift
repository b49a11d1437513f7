internal import CVPX
import Media
internal import Pixels

/// The settings for real-time screen content, chosen by measurement: 1280x720 at 2.5 Mb/s, pages of text at rest, being
/// typed and scrolled, and full-screen video.
extension VideoEncoderConfiguration {
    var interface: OpaquePointer { codec == .vp8 ? vpx_codec_vp8_cx() : vpx_codec_vp9_cx() }

    func libvpxConfiguration() throws(VideoEncoderError) -> vpx_codec_enc_cfg_t {
        var configuration = vpx_codec_enc_cfg_t()
        let code = vpx_codec_enc_config_default(interface, &configuration, 0)
        guard code == VPX_CODEC_OK else { throw VPXEncoder.error(nil, "vpx_codec_enc_config_default", code) }
        configuration.g_w = UInt32(size.width)
        configuration.g_h = UInt32(size.height)
        // More threads cost more in all than they save in time.
        configuration.g_threads = 1
        configuration.g_timebase = vpx_rational(num: 1, den: 1_000_000_000)
        // VP8 version 1 (RFC 6386 §9.1): bilinear prediction and the simple loop filter.
        configuration.g_profile = codec == .vp8 ? UInt32(vp8Profile) : 0
        configuration.g_lag_in_frames = 0
        // Losses are repaired by retransmission and keyframes; resilience costs 1 dB on scrolled text in VP9.
        configuration.g_error_resilient = 0
        configuration.kf_mode = VPX_KF_DISABLED

        configuration.rc_end_usage = VPX_CBR
        configuration.rc_target_bitrate = UInt32(targetBitrate / 1000)
        // A lower quantizer costs bits on a picture at rest and gains nothing visible.
        configuration.rc_min_quantizer = codec == .vp8 ? 8 : 4
        configuration.rc_max_quantizer = 56
        configuration.rc_undershoot_pct = 100
        configuration.rc_overshoot_pct = 15
        // In milliseconds.
        configuration.rc_buf_sz = 720
        configuration.rc_buf_initial_sz = 500
        configuration.rc_buf_optimal_sz = 600
        configuration.rc_dropframe_thresh = 0
        configuration.rc_resize_allowed = 0
        return configuration
    }

    /// The encoder does not use VP8's third reference, which only look-ahead makes good use of. That saves a twelfth of
    /// the time. If patches are allowed, they alone use the second reference. Text that scrolls by fractions of rows is
    /// then 1.5 dB coarser, and typed letters are 1.5 dB finer.
    var interFrameFlags: vpx_enc_frame_flags_t {
        guard codec == .vp8 else { return 0 }
        let alternate = VP8_EFLAG_NO_REF_ARF | VP8_EFLAG_NO_UPD_ARF
        let golden = allowsPatches ? VP8_EFLAG_NO_REF_GF | VP8_EFLAG_NO_UPD_GF : 0
        return vpx_enc_frame_flags_t(alternate | golden)
    }
}

extension VPXEncoder {
    func applyControls() throws(VideoEncoderError) {
        // A block with a smaller change is skipped, which saves an eighth of the time on a picture at rest.
        try set("VP8E_SET_STATIC_THRESHOLD", VP8E_SET_STATIC_THRESHOLD, 100)
        if configuration.codec == .vp8 { try applyVP8Controls() } else { try applyVP9Controls() }
    }

    private func applyVP8Controls() throws(VideoEncoderError) {
        // A negative speed is fixed; a positive one follows the wall clock. From -7 on, scrolled text loses 1 dB, and
        // 10 dB when it moves by whole macroblocks.
        try set("VP8E_SET_CPUUSED", VP8E_SET_CPUUSED, -6)
        // Mode 1 gains 0.1 dB on a page of text and loses 0.6 dB on video. Mode 2 drops the first frame after a change of
        // the whole screen and sends that change in many small frames.
        try set("VP8E_SET_SCREEN_CONTENT_MODE", VP8E_SET_SCREEN_CONTENT_MODE, 0)
        let one = Int(VP8_ONE_TOKENPARTITION.rawValue)
        try set("VP8E_SET_TOKEN_PARTITIONS", VP8E_SET_TOKEN_PARTITIONS, one)
    }

    private func applyVP9Controls() throws(VideoEncoderError) {
        // 9 would save a fifth of the time on scrolled text, and lose 1.8 dB.
        try set("VP8E_SET_CPUUSED", VP8E_SET_CPUUSED, 8)
        // Without it, the frame after a change of the whole screen is 13 times as large, and takes most of a second to
        // send.
        try set("VP9E_SET_TUNE_CONTENT", VP9E_SET_TUNE_CONTENT, Int(VP9E_CONTENT_SCREEN.rawValue))
        // With cyclic refresh the picture is sharp a quarter of a second earlier after such a change.
        try setCyclicRefresh(true)
        try set("VP9E_SET_ROW_MT", VP9E_SET_ROW_MT, 0)
        try set("VP9E_SET_TILE_COLUMNS", VP9E_SET_TILE_COLUMNS, 0)
        try set("VP9E_SET_FRAME_PARALLEL_DECODING", VP9E_SET_FRAME_PARALLEL_DECODING, 0)
        // VP8 has this matrix by definition (RFC 6386 §9.2). Without the tag, receivers guess by the size.
        try set("VP9E_SET_COLOR_SPACE", VP9E_SET_COLOR_SPACE, Int(VPX_CS_BT_601.rawValue))
        try set("VP9E_SET_COLOR_RANGE", VP9E_SET_COLOR_RANGE, Int(VPX_CR_STUDIO_RANGE.rawValue))
    }

    func setCyclicRefresh(_ isOn: Bool) throws(VideoEncoderError) {
        try set("VP9E_SET_AQ_MODE", VP9E_SET_AQ_MODE, isOn ? 3 : 0)
    }
}
