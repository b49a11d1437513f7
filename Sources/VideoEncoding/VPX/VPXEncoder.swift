internal import CVPX
import Media
internal import Pixels
import Time

/// libvpx's VP8 or VP9 encoder, with patches for VP8.
final class VPXEncoder {
    private let configuration: VideoEncoderConfiguration
    private let context: VPXContext
    private var libvpxConfiguration: vpx_codec_enc_cfg_t
    /// One byte per macroblock, row by row. The library obeys it while `isRestricted`.
    private var activeMap: [UInt8]
    private var isRestricted = false
    private(set) var patcher: PatchEncoder?
    /// The last frame of libvpx, if it is a keyframe of VP8.
    private var keyframe: (frame: EncodingResult, data: [UInt8])?

    init(_ configuration: VideoEncoderConfiguration) throws(VideoEncoderError) {
        var libvpxConfiguration = try configuration.libvpxConfiguration()
        let context = try VPXContext(configuration.interface, &libvpxConfiguration)
        try configuration.applyControls(to: context)
        self.configuration = configuration
        self.context = context
        self.libvpxConfiguration = libvpxConfiguration
        let blocks = BlockSet(configuration.size, side: BlockSet.macroblock)
        activeMap = Array(repeating: 0, count: blocks.columns * blocks.rows)
        let mayPatch = configuration.codec == .vp8 && configuration.allowsPatches
        patcher = mayPatch ? PatchEncoder(configuration.size, version: configuration.vp8Profile) : nil
    }

    func encode<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        presentationTime: Instant,
        forceKeyframe: Bool,
        quantizers: ClosedRange<Int>?,
        active: BlockSet?,
        _ body: (_ frame: EncodingResult, _ data: Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        keyframe = nil
        try setActive(forceKeyframe ? nil : active)
        if let quantizers { try setQuantizers(quantizers) }
        let flags = forceKeyframe ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF) : configuration.interFrameFlags
        let time = vpx_codec_pts_t(presentationTime.nanoseconds)
        let duration = UInt(1_000_000_000 / configuration.framesPerSecond)
        let layout = picture.layout
        try picture.withPlanes { luma, chroma throws(VideoEncoderError) in
            var image = Self.image(luma, chroma, layout)
            try context.check("vpx_codec_encode") {
                vpx_codec_encode($0, &image, time, duration, flags, UInt(VPX_DL_REALTIME))
            }
        }
        if quantizers != nil { try setQuantizers(nil) }
        return try takeFrame(presentationTime, body)
    }

    var repeatableQuantizer: Int? { keyframe?.frame.quantizer }

    func repeatKeyframe<Result: ~Copyable>(
        presentationTime: Instant,
        _ body: (_ frame: EncodingResult, _ data: Span<UInt8>) -> Result
    ) -> Result? {
        guard let (frame, data) = keyframe else { return nil }
        patcher?.noteFrame(data.span)
        let repeated = EncodingResult(isKeyframe: true, quantizer: frame.quantizer, presentationTime: presentationTime)
        return body(repeated, data.span)
    }

    var canPatch: Bool { patcher?.canPatch ?? false }

    var patchedBlocks: BlockSet? { patcher?.patched.nonEmpty }

    func patch<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        presentationTime: Instant,
        blocks: BlockSet,
        scroll: Scroll?,
        limit: Int,
        _ body: (_ frame: EncodingResult, _ data: Span<UInt8>) -> Result
    ) -> Result? {
        guard let base = lastPicture else { return nil }
        let frame = EncodingResult(
            isKeyframe: false,
            quantizer: PatchEncoder.quantizer,
            presentationTime: presentationTime
        )
        return patcher?.encode(picture, blocks, scroll: scroll, base: base, limit: limit) { body(frame, $0) }
    }

    func copyReference(into picture: inout PlanarPicture) -> Bool {
        guard let base = lastPicture else { return false }
        picture.copy(base.source, size: configuration.size)
        return patcher?.copyHeld(into: &picture) ?? true
    }

    /// The picture of libvpx's own last frame; nil if there is none.
    private var lastPicture: PatchEncoder.Planes? {
        guard let image = vpx_codec_get_preview_frame(context.pointer)?.pointee,
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
        try context.check("vpx_codec_enc_config_set") { vpx_codec_enc_config_set($0, &changed) }
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
        try context.check("vpx_codec_enc_config_set") { vpx_codec_enc_config_set($0, &changed) }
    }

    /// Restricts the encoder to some macroblocks; nil lifts the restriction.
    private func setActive(_ blocks: BlockSet?) throws(VideoEncoderError) {
        if blocks == nil, !isRestricted { return }
        // Cyclic refresh ignores the map.
        if configuration.codec == .vp9, isRestricted != (blocks != nil) {
            try configuration.setCyclicRefresh(blocks == nil, of: context)
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
            try context.exchange("VP8E_SET_ACTIVEMAP", VP8E_SET_ACTIVEMAP, &map)
        }
    }

    /// Without look-ahead, a picture makes one packet or none.
    private func takeFrame<Result: ~Copyable>(
        _ presentationTime: Instant,
        _ body: (EncodingResult, Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context.pointer, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            let frame = packet.pointee.data.frame
            if frame.sz == 0 { continue }
            var quantizer: Int32 = 0
            try context.exchange("VP8E_GET_LAST_QUANTIZER_64", VP8E_GET_LAST_QUANTIZER_64, &quantizer)
            let encoded = EncodingResult(
                isKeyframe: frame.flags & UInt32(VPX_FRAME_IS_KEY) != 0,
                quantizer: Int(quantizer),
                presentationTime: presentationTime
            )
            let bytes = UnsafePointer(frame.buf.assumingMemoryBound(to: UInt8.self))
            let data = Span(_unsafeStart: bytes, count: frame.sz)
            patcher?.noteFrame(data)
            if patcher != nil, encoded.isKeyframe {
                keyframe = (encoded, data.withUnsafeBufferPointer { Array($0) })
            }
            return body(encoded, data)
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
}

extension RawSpan {
    /// The first byte, in the type that the codec libraries demand for planes that they only read.
    var libraryPointer: UnsafeMutablePointer<UInt8> {
        withUnsafeBytes { UnsafeMutableRawPointer(mutating: $0.baseAddress!).assumingMemoryBound(to: UInt8.self) }
    }
}

extension BlockSet {
    fileprivate var nonEmpty: BlockSet? { isEmpty ? nil : self }
}
