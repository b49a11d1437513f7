internal import CVPX

/// A libvpx encoder that has been initialized, destroyed with its owner.
struct VPXContext: ~Copyable {
    let pointer: UnsafeMutablePointer<vpx_codec_ctx_t>

    init(
        _ interface: OpaquePointer,
        _ configuration: inout vpx_codec_enc_cfg_t
    ) throws(VideoEncoderError) {
        let pointer = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
        pointer.initialize(to: vpx_codec_ctx_t())
        let code = vpx_codec_enc_init_ver(pointer, interface, &configuration, 0, oriel_vpx_encoder_abi_version)
        guard code == VPX_CODEC_OK else {
            let error = Self.error(pointer, "vpx_codec_enc_init", code)
            pointer.deallocate()
            throw error
        }
        self.pointer = pointer
    }

    deinit {
        vpx_codec_destroy(pointer)
        pointer.deallocate()
    }

    /// Runs a call that takes the context and reports its failure by code.
    func check(
        _ call: StaticString,
        _ body: (UnsafeMutablePointer<vpx_codec_ctx_t>) -> vpx_codec_err_t
    ) throws(VideoEncoderError) {
        let code = body(pointer)
        if code != VPX_CODEC_OK { throw Self.error(pointer, call, code) }
    }

    /// Sets a control that takes an integer.
    func set(_ name: StaticString, _ control: vp8e_enc_control_id, _ value: Int) throws(VideoEncoderError) {
        try check(name) { oriel_vpx_set($0, Int32(control.rawValue), Int32(value)) }
    }

    /// Uses a control that takes a pointer to data, for the library to read or to write.
    func exchange<Data: BitwiseCopyable>(_ name: StaticString, _ control: vp8e_enc_control_id, _ data: inout Data)
        throws(VideoEncoderError)
    {
        try check(name) { oriel_vpx_exchange($0, Int32(control.rawValue), &data) }
    }

    /// - Parameter pointer: the context of the failed call; nil if there is none yet.
    static func error(
        _ pointer: UnsafeMutablePointer<vpx_codec_ctx_t>?,
        _ call: StaticString,
        _ code: vpx_codec_err_t
    ) -> VideoEncoderError {
        var reason = String(cString: vpx_codec_err_to_string(code))
        if let pointer, let detail = vpx_codec_error_detail(pointer) { reason += ": " + String(cString: detail) }
        return .library(call: "\(call)", code: code.rawValue, reason: reason)
    }
}
