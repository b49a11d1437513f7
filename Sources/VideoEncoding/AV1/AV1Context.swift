internal import CAOM

/// A libaom encoder that has been initialized, destroyed with its owner.
struct AV1Context: ~Copyable {
    let pointer: UnsafeMutablePointer<aom_codec_ctx_t>

    init(_ configuration: inout aom_codec_enc_cfg_t) throws(VideoEncoderError) {
        let pointer = UnsafeMutablePointer<aom_codec_ctx_t>.allocate(capacity: 1)
        pointer.initialize(to: aom_codec_ctx_t())
        let version = oriel_aom_encoder_abi_version
        let code = aom_codec_enc_init_ver(pointer, aom_codec_av1_cx(), &configuration, 0, version)
        guard code == AOM_CODEC_OK else {
            let error = Self.error(pointer, "aom_codec_enc_init", code)
            pointer.deallocate()
            throw error
        }
        self.pointer = pointer
    }

    deinit {
        aom_codec_destroy(pointer)
        pointer.deallocate()
    }

    /// Runs a call that takes the context and reports its failure by code.
    func check(
        _ call: StaticString,
        _ body: (UnsafeMutablePointer<aom_codec_ctx_t>) -> aom_codec_err_t
    ) throws(VideoEncoderError) {
        let code = body(pointer)
        if code != AOM_CODEC_OK { throw Self.error(pointer, call, code) }
    }

    /// Sets a control that takes an integer.
    func set(_ name: StaticString, _ control: aome_enc_control_id, _ value: Int) throws(VideoEncoderError) {
        try check(name) { oriel_aom_set($0, Int32(control.rawValue), Int32(value)) }
    }

    /// Uses a control that takes a pointer to data, for the library to read or to write.
    func exchange<Data: BitwiseCopyable>(_ name: StaticString, _ control: aome_enc_control_id, _ data: inout Data)
        throws(VideoEncoderError)
    {
        try check(name) { oriel_aom_exchange($0, Int32(control.rawValue), &data) }
    }

    /// - Parameter pointer: the context of the failed call; nil if there is none yet.
    static func error(
        _ pointer: UnsafeMutablePointer<aom_codec_ctx_t>?,
        _ call: StaticString,
        _ code: aom_codec_err_t
    ) -> VideoEncoderError {
        var reason = String(cString: aom_codec_err_to_string(code))
        if let pointer, let detail = aom_codec_error_detail(pointer) { reason += ": " + String(cString: detail) }
        return .library(call: "\(call)", code: code.rawValue, reason: reason)
    }
}
