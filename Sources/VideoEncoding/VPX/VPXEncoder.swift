internal import CVPX
import Media
internal import Pixels
import Time

/// libvpx's VP8 or VP9 encoder, with patches for VP8.
final class VPXEncoder {
    let configuration: VideoEncoderConfiguration
    private var context = vpx_codec_ctx_t()
    private var libvpxConfiguration: vpx_codec_enc_cfg_t
    /// One byte per macroblock, row by row. The library obeys it while `isRestricted`.
    private var activeMap: [UInt8]
    private var isRestricted = false
    private(set) var patcher: PatchEncoder?
    /// The last frame of libvpx, if it is a keyframe of VP8.
    private(set) var keyframe: (frame: EncodingResult, data: [UInt8])?

    init(_ configuration: VideoEncoderConfiguration) throws(VideoEncoderError) {
        var libvpxConfiguration = try configuration.libvpxConfiguration()
        let version = oriel_vpx_encoder_abi_version
        let code = vpx_codec_enc_init_ver(&context, configuration.interface, &libvpxConfiguration, 0, version)
        guard code == VPX_CODEC_OK else { throw Self.error(&context, "vpx_codec_enc_init", code) }
        self.configuration = configuration
        self.libvpxConfiguration = libvpxConfiguration
        let blocks = BlockSet(configuration.size, side: BlockSet.macroblock)
        activeMap = Array(repeating: 0, count: blocks.columns * blocks.rows)
        let mayPatch = configuration.codec == .vp8 && configuration.allowsPatches
        patcher = mayPatch ? PatchEncoder(configuration.size, version: configuration.vp8Profile) : nil
        try applyControls()
    }

    deinit { vpx_codec_destroy(&context) }

    func encode(
        _ picture: borrowing NV12Picture,
        _ presentationTime: Instant,
        _ forceKeyframe: Bool,
        _ quantizers: ClosedRange<Int>?,
        _ active: BlockSet?
    ) throws(VideoEncoderError) -> EncodedPacket? {
        keyframe = nil
        try setActive(forceKeyframe ? nil : active)
        if let quantizers { try setQuantizers(quantizers) }
        let flags = forceKeyframe ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF) : configuration.interFrameFlags
        let time = vpx_codec_pts_t(presentationTime.nanoseconds)
        let duration = UInt(1_000_000_000 / configuration.framesPerSecond)
        let layout = picture.layout
        try picture.withPlanes { luma, chroma throws(VideoEncoderError) in
            var image = Self.image(luma, chroma, layout)
            try check("vpx_codec_encode") {
                vpx_codec_encode($0, &image, time, duration, flags, UInt(VPX_DL_REALTIME))
            }
        }
        if quantizers != nil { try setQuantizers(nil) }
        return try takePacket()
    }

    /// The last keyframe; nil if there is none to repeat.
    func repeatKeyframe() -> (frame: EncodingResult, data: [UInt8])? {
        if let keyframe { patcher?.noteFrame(keyframe.data.span) }
        return keyframe
    }

    func patch<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        _ blocks: BlockSet,
        _ scroll: Scroll?,
        limit: Int,
        _ body: (Span<UInt8>) -> Result
    ) -> Result? {
        guard let base = lastPicture else { return nil }
        return patcher?.encode(picture, blocks, scroll: scroll, base: base, limit: limit, body)
    }

    func copyReference(into picture: inout PlanarPicture) -> Bool {
        guard let base = lastPicture else { return false }
        picture.copy(base.source, size: configuration.size)
        return patcher?.copyHeld(into: &picture) ?? true
    }

    /// The picture of libvpx's own last frame; nil if there is none.
    var lastPicture: PatchEncoder.Planes? {
        guard let image = vpx_codec_get_preview_frame(&context)?.pointee,
            let y = image.planes.0, let u = image.planes.1, let v = image.planes.2
        else { return nil }
        return PatchEncoder.Planes(
            pointers: (y, u, v),
            strides: (Int(image.stride.0), Int(image.stride.1), Int(image.stride.2))
        )
    }

    func setBitrate(_ bitrate: Int) throws(VideoEncoderError) {
        var changed = libvpxConfiguration
        changed.rc_target_bitrate = UInt32(bitrate / 1000)
        try check("vpx_codec_enc_config_set") { vpx_codec_enc_config_set($0, &changed) }
        libvpxConfiguration = changed
    }

    /// Sets the quantizers of the next frames; nil sets the usual ones.
    private func setQuantizers(_ quantizers: ClosedRange<Int>?) throws(VideoEncoderError) {
        var changed = libvpxConfiguration
        if let quantizers {
            changed.rc_max_quantizer = UInt32(quantizers.upperBound)
            changed.rc_min_quantizer = max(
                min(changed.rc_min_quantizer, UInt32(quantizers.upperBound)),
                UInt32(quantizers.lowerBound)
            )
        }
        try check("vpx_codec_enc_config_set") { vpx_codec_enc_config_set($0, &changed) }
    }

    /// Restricts the encoder to some macroblocks; nil lifts the restriction.
    private func setActive(_ blocks: BlockSet?) throws(VideoEncoderError) {
        if blocks == nil, !isRestricted { return }
        // Cyclic refresh ignores the map.
        if configuration.codec == .vp9, isRestricted != (blocks != nil) {
            try setCyclicRefresh(blocks == nil)
        }
        isRestricted = blocks != nil
        blocks?.writeBytes(to: &activeMap)
        let (columns, rows) = ((configuration.size.width + 15) / 16, (configuration.size.height + 15) / 16)
        try activeMap.withUnsafeMutableBufferPointer { buffer throws(VideoEncoderError) in
            var map = vpx_active_map_t(
                active_map: isRestricted ? buffer.baseAddress : nil,
                rows: UInt32(rows),
                cols: UInt32(columns)
            )
            try exchange("VP8E_SET_ACTIVEMAP", VP8E_SET_ACTIVEMAP, &map)
        }
    }

    /// Without look-ahead, a picture makes one packet or none.
    private func takePacket() throws(VideoEncoderError) -> EncodedPacket? {
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(&context, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            let frame = packet.pointee.data.frame
            if frame.sz == 0 { continue }
            var quantizer: Int32 = 0
            try exchange("VP8E_GET_LAST_QUANTIZER_64", VP8E_GET_LAST_QUANTIZER_64, &quantizer)
            let bytes = UnsafeBufferPointer(start: frame.buf.assumingMemoryBound(to: UInt8.self), count: frame.sz)
            let isKeyframe = frame.flags & UInt32(VPX_FRAME_IS_KEY) != 0
            let result = EncodingResult(isKeyframe: isKeyframe, quantizer: Int(quantizer))
            patcher?.noteFrame(bytes.span)
            if patcher != nil, isKeyframe { keyframe = (result, Array(bytes)) }
            return (result, bytes)
        }
        return nil
    }

    /// A view of the planes. libvpx only reads them.
    private static func image(_ luma: RawSpan, _ chroma: RawSpan, _ layout: NV12Layout) -> vpx_image_t {
        let (luma, chroma) = (luma.libraryPointer, chroma.libraryPointer)
        var image = vpx_image_t()
        let size = layout.size
        vpx_img_wrap(&image, VPX_IMG_FMT_NV12, UInt32(size.width), UInt32(size.height), 1, luma)
        image.planes = (luma, chroma, chroma + 1, nil)
        image.stride = (Int32(layout.lumaStride), Int32(layout.chromaStride), Int32(layout.chromaStride), 0)
        return image
    }

    // MARK: - Calls

    /// Runs a call that takes the context and reports its failure by code.
    private func check(
        _ call: StaticString,
        _ body: (UnsafeMutablePointer<vpx_codec_ctx_t>) -> vpx_codec_err_t
    ) throws(VideoEncoderError) {
        let code = body(&context)
        if code != VPX_CODEC_OK { throw Self.error(&context, call, code) }
    }

    func set(_ name: StaticString, _ control: vp8e_enc_control_id, _ value: Int) throws(VideoEncoderError) {
        try check(name) { oriel_vpx_set($0, Int32(control.rawValue), Int32(value)) }
    }

    /// Uses a control that takes a pointer to data, for the library to read or to write.
    private func exchange<Data: BitwiseCopyable>(
        _ name: StaticString,
        _ control: vp8e_enc_control_id,
        _ data: inout Data
    )
        throws(VideoEncoderError)
    {
        try check(name) { oriel_vpx_exchange($0, Int32(control.rawValue), &data) }
    }

    /// - Parameter context: of the failed call; nil if there is none yet.
    static func error(
        _ context: UnsafeMutablePointer<vpx_codec_ctx_t>?,
        _ call: StaticString,
        _ code: vpx_codec_err_t
    ) -> VideoEncoderError {
        .library(call, code.rawValue, vpx_codec_err_to_string(code), context.flatMap { vpx_codec_error_detail($0) })
    }
}

extension RawSpan {
    /// The first byte, in the type that the codec libraries demand for planes that they only read.
    var libraryPointer: UnsafeMutablePointer<UInt8> {
        withUnsafeBytes { UnsafeMutableRawPointer(mutating: $0.baseAddress!).assumingMemoryBound(to: UInt8.self) }
    }
}
