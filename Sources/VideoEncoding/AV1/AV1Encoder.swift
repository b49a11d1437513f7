internal import CAOM
internal import Pixels
import Time

final class AV1Encoder {
    private let configuration: VideoEncoderConfiguration
    private var context = aom_codec_ctx_t()
    private var libaomConfiguration: aom_codec_enc_cfg_t
    /// The picture that decoders show, with the new content of the macroblocks to encode.
    private var composed: NV12Picture
    /// Whether the library's picture is the one that decoders show. It is not where the library has left a frame out.
    private var referenceIsShown = false
    private var isThorough = false
    /// The presentation time of the first frame.
    private var start: Instant?

    init(_ configuration: VideoEncoderConfiguration) throws(VideoEncoderError) {
        var libaomConfiguration = try configuration.libaomConfiguration()
        let version = oriel_aom_encoder_abi_version
        let code = aom_codec_enc_init_ver(&context, aom_codec_av1_cx(), &libaomConfiguration, 0, version)
        guard code == AOM_CODEC_OK else { throw Self.error(&context, "aom_codec_enc_init", code) }
        self.configuration = configuration
        self.libaomConfiguration = libaomConfiguration
        composed = NV12Picture(size: configuration.size)
        try applyControls()
    }

    deinit { aom_codec_destroy(&context) }

    func encode(
        _ picture: borrowing NV12Picture,
        _ presentationTime: Instant,
        _ forceKeyframe: Bool,
        _ quantizers: ClosedRange<Int>?,
        _ active: BlockSet?,
        _ isThorough: Bool
    ) throws(VideoEncoderError) -> EncodedPacket? {
        if isThorough != self.isThorough {
            try setSpeed(isThorough: isThorough)
            self.isThorough = isThorough
        }
        if let quantizers { try setQuantizers(quantizers) }
        let flags = forceKeyframe ? aom_enc_frame_flags_t(AOM_EFLAG_FORCE_KF) : 0
        let time = ticks(presentationTime)
        if !forceKeyframe, let active, compose(picture, active) {
            try pass(composed, time, flags)
        } else {
            try pass(picture, time, flags)
        }
        if quantizers != nil { try setQuantizers(nil) }
        return try takePacket()
    }

    static let ticksPerSecond = 1000

    /// A time for libaom, in milliseconds since the first frame. It refuses times of more than 32 bits, which nanoseconds
    /// exceed after four seconds. It only uses differences of times, so the time may start over after 49 days.
    private func ticks(_ instant: Instant) -> Int64 {
        let first = start ?? instant
        start = first
        return (instant - first).nanoseconds / 1_000_000 & Int64(UInt32.max)
    }

    func copyReference(into picture: inout PlanarPicture) -> Bool {
        guard let reference else { return false }
        picture.copy(reference, size: configuration.size)
        return true
    }

    /// The picture that decoders show after the library's last frame; nil if unknown. Valid until the next frame.
    var reference: PlanarPicture.Source? {
        guard referenceIsShown, let image = aom_codec_get_preview_frame(&context)?.pointee,
            let y = image.planes.0, let u = image.planes.1, let v = image.planes.2
        else { return nil }
        return PlanarPicture.Source(
            y,
            u,
            v,
            strides: (Int(image.stride.0), Int(image.stride.1), Int(image.stride.2))
        )
    }

    /// Makes `composed` the picture that decoders show, with these macroblocks from the new picture.
    ///
    /// libaom 3.6 ignores its own map of active macroblocks at suitable speeds. But macroblocks that equal the shown
    /// picture cost nothing: 50 bytes a frame. The former source would cost as much as a new encode, since it differs
    /// from the shown picture.
    ///
    /// - Returns: whether it could. If not, encode the whole picture.
    private func compose(_ picture: borrowing NV12Picture, _ active: BlockSet) -> Bool {
        guard let reference else { return false }
        composed.copy(reference)
        composed.copy(active, of: picture)
        return true
    }

    private func pass(
        _ picture: borrowing NV12Picture,
        _ time: Int64,
        _ flags: aom_enc_frame_flags_t
    ) throws(VideoEncoderError) {
        let duration = UInt(max(Self.ticksPerSecond / configuration.framesPerSecond, 1))
        let layout = picture.layout
        try picture.withPlanes { luma, chroma throws(VideoEncoderError) in
            var image = Self.image(luma, chroma, layout)
            try check("aom_codec_encode") {
                aom_codec_encode($0, &image, time, duration, flags)
            }
        }
    }

    func setBitrate(_ bitrate: Int) throws(VideoEncoderError) {
        var changed = libaomConfiguration
        changed.rc_target_bitrate = UInt32(bitrate / 1000)
        try check("aom_codec_enc_config_set") { aom_codec_enc_config_set($0, &changed) }
        libaomConfiguration = changed
    }

    /// Sets the quantizers of the next frames; nil sets the usual ones.
    private func setQuantizers(_ quantizers: ClosedRange<Int>?) throws(VideoEncoderError) {
        var changed = libaomConfiguration
        if let quantizers {
            changed.rc_min_quantizer = max(changed.rc_min_quantizer, UInt32(quantizers.lowerBound))
            changed.rc_max_quantizer = max(UInt32(quantizers.upperBound), changed.rc_min_quantizer)
        }
        try check("aom_codec_enc_config_set") { aom_codec_enc_config_set($0, &changed) }
    }

    /// Without look-ahead, a picture makes one packet, a temporal unit, or none.
    private func takePacket() throws(VideoEncoderError) -> EncodedPacket? {
        referenceIsShown = false
        var iterator: aom_codec_iter_t?
        while let packet = aom_codec_get_cx_data(&context, &iterator) {
            guard packet.pointee.kind == AOM_CODEC_CX_FRAME_PKT else { continue }
            let frame = packet.pointee.data.frame
            if frame.sz == 0 { continue }
            referenceIsShown = true
            var quantizer: Int32 = 0
            try check("AOME_GET_LAST_QUANTIZER_64") {
                oriel_aom_exchange($0, Int32(AOME_GET_LAST_QUANTIZER_64.rawValue), &quantizer)
            }
            let isKeyframe = frame.flags & UInt32(AOM_FRAME_IS_KEY) != 0
            let bytes = UnsafeBufferPointer(start: frame.buf.assumingMemoryBound(to: UInt8.self), count: frame.sz)
            return (EncodingResult(isKeyframe: isKeyframe, quantizer: Int(quantizer)), bytes)
        }
        return nil
    }

    /// A view of the planes. libaom only reads them, and recognizes interleaved chroma by a nil third plane.
    private static func image(_ luma: RawSpan, _ chroma: RawSpan, _ layout: NV12Layout) -> aom_image_t {
        let (luma, chroma) = (luma.libraryPointer, chroma.libraryPointer)
        var image = aom_image_t()
        let size = layout.size
        aom_img_wrap(&image, AOM_IMG_FMT_NV12, UInt32(size.width), UInt32(size.height), 1, luma)
        image.planes = (luma, chroma, nil)
        image.stride = (Int32(layout.lumaStride), Int32(layout.chromaStride), 0)
        return image
    }

    // MARK: - Calls

    /// Runs a call that takes the context and reports its failure by code.
    private func check(
        _ call: StaticString,
        _ body: (UnsafeMutablePointer<aom_codec_ctx_t>) -> aom_codec_err_t
    ) throws(VideoEncoderError) {
        let code = body(&context)
        if code != AOM_CODEC_OK { throw Self.error(&context, call, code) }
    }

    func set(_ name: StaticString, _ control: aome_enc_control_id, _ value: Int) throws(VideoEncoderError) {
        try check(name) { oriel_aom_set($0, Int32(control.rawValue), Int32(value)) }
    }

    /// - Parameter context: of the failed call; nil if there is none yet.
    static func error(
        _ context: UnsafeMutablePointer<aom_codec_ctx_t>?,
        _ call: StaticString,
        _ code: aom_codec_err_t
    ) -> VideoEncoderError {
        .library(call, code.rawValue, aom_codec_err_to_string(code), context.flatMap { aom_codec_error_detail($0) })
    }
}
