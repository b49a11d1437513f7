internal import CAOM
internal import Pixels

/// The settings for real-time screen content, chosen by measurement: 1280x720 at 2.5 Mb/s, pages of text at rest, being
/// typed and scrolled, and full-screen video.
extension VideoEncoderConfiguration {
    func libaomConfiguration() throws(VideoEncoderError) -> aom_codec_enc_cfg_t {
        var configuration = aom_codec_enc_cfg_t()
        let code = aom_codec_enc_config_default(aom_codec_av1_cx(), &configuration, UInt32(AOM_USAGE_REALTIME))
        guard code == AOM_CODEC_OK else { throw AV1Encoder.error(nil, "aom_codec_enc_config_default", code) }
        configuration.g_w = UInt32(size.width)
        configuration.g_h = UInt32(size.height)
        // More threads cost more in all than they save in time.
        configuration.g_threads = 1
        configuration.g_timebase = aom_rational(num: 1, den: Int32(AV1Encoder.ticksPerSecond))
        configuration.g_lag_in_frames = 0
        // Losses are repaired by retransmission and keyframes.
        configuration.g_error_resilient = 0
        configuration.kf_mode = AOM_KF_DISABLED

        configuration.rc_end_usage = AOM_CBR
        configuration.rc_target_bitrate = UInt32(targetBitrate / 1000)
        // Text then has a PSNR of 51 dB. A lower quantizer costs a third more bits and gains nothing visible.
        configuration.rc_min_quantizer = 16
        configuration.rc_max_quantizer = 56
        configuration.rc_undershoot_pct = 50
        configuration.rc_overshoot_pct = 50
        // In milliseconds.
        configuration.rc_buf_sz = 1000
        configuration.rc_buf_initial_sz = 600
        configuration.rc_buf_optimal_sz = 600
        configuration.rc_dropframe_thresh = 0
        return configuration
    }
}

extension AV1Encoder {
    func applyControls() throws(VideoEncoderError) {
        try setSpeed(isThorough: false)
        // With palettes a page of text takes half the bits.
        try set("AV1E_SET_TUNE_CONTENT", AV1E_SET_TUNE_CONTENT, Int(AOM_CONTENT_SCREEN.rawValue))
        try set("AV1E_SET_ENABLE_PALETTE", AV1E_SET_ENABLE_PALETTE, 1)
        // Cyclic refresh would encode unchanged macroblocks.
        try set("AV1E_SET_AQ_MODE", AV1E_SET_AQ_MODE, 0)
        try set("AV1E_SET_TILE_COLUMNS", AV1E_SET_TILE_COLUMNS, 0)
        try set("AV1E_SET_DELTAQ_MODE", AV1E_SET_DELTAQ_MODE, 0)
        try set("AV1E_SET_COLOR_PRIMARIES", AV1E_SET_COLOR_PRIMARIES, Int(AOM_CICP_CP_BT_709.rawValue))
        try set(
            "AV1E_SET_TRANSFER_CHARACTERISTICS",
            AV1E_SET_TRANSFER_CHARACTERISTICS,
            Int(AOM_CICP_TC_BT_709.rawValue)
        )
        try set("AV1E_SET_MATRIX_COEFFICIENTS", AV1E_SET_MATRIX_COEFFICIENTS, Int(AOM_CICP_MC_BT_601.rawValue))
        try set("AV1E_SET_COLOR_RANGE", AV1E_SET_COLOR_RANGE, Int(AOM_CR_STUDIO_RANGE.rawValue))
        // As in libwebrtc: these tools cost time and gain nothing on screens.
        try set("AV1E_SET_COEFF_COST_UPD_FREQ", AV1E_SET_COEFF_COST_UPD_FREQ, 3)
        try set("AV1E_SET_MODE_COST_UPD_FREQ", AV1E_SET_MODE_COST_UPD_FREQ, 3)
        try set("AV1E_SET_MV_COST_UPD_FREQ", AV1E_SET_MV_COST_UPD_FREQ, 3)
        try set("AV1E_SET_ENABLE_ORDER_HINT", AV1E_SET_ENABLE_ORDER_HINT, 0)
        try set("AV1E_SET_ENABLE_GLOBAL_MOTION", AV1E_SET_ENABLE_GLOBAL_MOTION, 0)
        try set("AV1E_SET_ENABLE_WARPED_MOTION", AV1E_SET_ENABLE_WARPED_MOTION, 0)
        try set("AV1E_SET_ENABLE_OBMC", AV1E_SET_ENABLE_OBMC, 0)
        try set("AV1E_SET_ENABLE_TPL_MODEL", AV1E_SET_ENABLE_TPL_MODEL, 0)
        try set("AV1E_SET_ENABLE_CFL_INTRA", AV1E_SET_ENABLE_CFL_INTRA, 0)
        try set("AV1E_SET_ENABLE_SMOOTH_INTRA", AV1E_SET_ENABLE_SMOOTH_INTRA, 0)
        try set("AV1E_SET_ENABLE_ANGLE_DELTA", AV1E_SET_ENABLE_ANGLE_DELTA, 0)
        try set("AV1E_SET_ENABLE_FILTER_INTRA", AV1E_SET_ENABLE_FILTER_INTRA, 0)
        try set("AV1E_SET_INTRA_DEFAULT_TX_ONLY", AV1E_SET_INTRA_DEFAULT_TX_ONLY, 1)
    }

    /// Sets how much time libaom takes, from the next frame on.
    ///
    /// 10 is coarser on text than 9, and no cheaper. 8 costs twice as much on scrolled text. Up to 6, libaom weighs
    /// bits against distortion: keyframes of smooth text then have 54 kB instead of 71 kB at 30 dB.
    func setSpeed(isThorough: Bool) throws(VideoEncoderError) {
        try set("AOME_SET_CPUUSED", AOME_SET_CPUUSED, isThorough ? 6 : 9)
    }
}
