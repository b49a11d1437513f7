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

    private static func error(
        _ pointer: UnsafeMutablePointer<vpx_codec_ctx_t>,
        _ call: StaticString,
        _ code: vpx_codec_err_t
    ) -> VideoEncoderError {
        var reason = String(cString: vpx_codec_err_to_string(code))
        if let detail = vpx_codec_error_detail(pointer) { reason += ": " + String(cString: detail) }
        return .library(call: "\(call)", code: code.rawValue, reason: reason)
    }
}
