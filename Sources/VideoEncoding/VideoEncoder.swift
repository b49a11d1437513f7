internal import CVPX
package import Pixels

/// What the encoder says about a frame.
package struct EncodedFrame: Equatable, Sendable {
    /// Whether it can be decoded without the frames before.
    package let isKeyframe: Bool
    /// From 0, the finest, to 63.
    package let quantizer: Int
    /// As given to `encode`, in nanoseconds.
    package let presentationTime: UInt64
}

/// A VP8 or VP9 encoder for one stream, used from one thread at a time. The first frame is a keyframe; later ones only
/// on demand. The same input gives the same stream, whatever the speed of the machine.
package struct VideoEncoder: ~Copyable {
    package private(set) var configuration: VideoEncoderConfiguration
    private let context: CodecContext
    private var libvpxConfiguration: vpx_codec_enc_cfg_t
    private var previousTime: UInt64?
    /// One byte a macroblock, row by row; heeded while `isRestricted`.
    private var activeMap: [UInt8]
    private var isRestricted = false
    var patcher: PatchEncoder?

    /// - Throws: `configuration` for a value out of range, `libvpx` when libvpx refuses.
    package init(_ configuration: VideoEncoderConfiguration) throws(VideoEncoderError) {
        try configuration.validate()
        var libvpxConfiguration = try configuration.libvpxConfiguration()
        let context = try CodecContext(configuration.interface, &libvpxConfiguration)
        try configuration.applyControls(to: context)
        self.configuration = configuration
        self.context = context
        self.libvpxConfiguration = libvpxConfiguration
        let blocks = BlockSet(configuration.size, side: BlockSet.macroblock)
        activeMap = Array(repeating: 0, count: blocks.columns * blocks.rows)
        patcher = configuration.codec == .vp8 ? PatchEncoder(configuration.size) : nil
    }

    /// Encodes a picture and lends the result to `body`; no byte is copied.
    ///
    /// - Parameters:
    ///   - picture: Of the configured size.
    ///   - presentationTime: In nanoseconds of any clock; later than that of every frame before.
    ///   - forceKeyframe: Whether the frame must be decodable on its own.
    ///   - coarsest: The largest quantizer that the frame may have, 0...63, whatever that costs; nil leaves it to rate control.
    ///   - active: The macroblocks to encode; the others stay as they were in the last frame. None makes a frame of some 100
    ///     bytes; nil encodes all. A keyframe has all.
    ///   - body: Gets the frame; the data is valid until it returns.
    /// - Returns: What `body` returns, or nil when rate control dropped the frame.
    /// - Throws: `presentationTime` when it is not later, `libvpx` when encoding fails.
    package mutating func encode<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        presentationTime: UInt64,
        forceKeyframe: Bool = false,
        coarsest: Int? = nil,
        active: BlockSet? = nil,
        _ body: (_ frame: EncodedFrame, _ data: Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        precondition(picture.size == configuration.size, "the picture is not of the configured size")
        if let previousTime, presentationTime <= previousTime {
            throw .presentationTime(presentationTime, previous: previousTime)
        }
        try setActive(forceKeyframe ? nil : active)
        if let coarsest { try setQuantizerLimit(coarsest) }
        let flags = forceKeyframe ? vpx_enc_frame_flags_t(VPX_EFLAG_FORCE_KF) : configuration.interFrameFlags
        let duration = UInt(1_000_000_000 / configuration.framesPerSecond)
        let layout = picture.layout
        try picture.withPlanes { luma, chroma throws(VideoEncoderError) in
            var image = Self.image(luma, chroma, layout)
            try context.check("vpx_codec_encode") {
                vpx_codec_encode(
                    $0,
                    &image,
                    vpx_codec_pts_t(presentationTime),
                    duration,
                    flags,
                    UInt(VPX_DL_REALTIME)
                )
            }
        }
        if coarsest != nil { try setQuantizerLimit(nil) }
        previousTime = presentationTime
        return try takeFrame(presentationTime, body)
    }

    /// Whether small changes can be sent by `patch`.
    package var canPatch: Bool { patcher?.canPatch ?? false }

    /// What patches have changed, and `encode` has to encode anew; nil when there is nothing of it.
    package var patchedBlocks: BlockSet? { patcher?.patched.nonEmpty }

    /// Encodes a change of few macroblocks at a fine quantizer, for a fraction of what `encode` costs.
    ///
    /// - Parameters:
    ///   - picture: Of the configured size.
    ///   - presentationTime: As for `encode`.
    ///   - blocks: The macroblocks to encode; with none the frame repeats the picture.
    ///   - scroll: What has moved, besides.
    ///   - limit: Of the frame in bytes.
    ///   - body: Gets the frame; the data is valid until it returns.
    /// - Returns: What `body` returns, or nil when the frame would be too large: then use `encode`.
    /// - Precondition: `canPatch`.
    package mutating func patch<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        presentationTime: UInt64,
        blocks: BlockSet,
        scroll: Scroll? = nil,
        limit: Int,
        _ body: (_ frame: EncodedFrame, _ data: Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        precondition(picture.size == configuration.size, "the picture is not of the configured size")
        if let previousTime, presentationTime <= previousTime {
            throw .presentationTime(presentationTime, previous: previousTime)
        }
        guard let image = vpx_codec_get_preview_frame(context.pointer)?.pointee else { return nil }
        guard let y = image.planes.0, let u = image.planes.1, let v = image.planes.2 else { return nil }
        let base = PatchEncoder.Planes(
            pointers: (y, u, v),
            strides: (Int(image.stride.0), Int(image.stride.1), Int(image.stride.2))
        )
        let frame = EncodedFrame(
            isKeyframe: false,
            quantizer: PatchEncoder.quantizer,
            presentationTime: presentationTime
        )
        let version = UInt8(libvpxConfiguration.g_profile)
        let result = patcher?.encode(
            picture,
            blocks,
            scroll: scroll,
            base: base,
            version: version,
            limit: limit
        ) { body(frame, $0) }
        if result != nil { previousTime = presentationTime }
        return result
    }

    /// Changes the target from the next frame on.
    ///
    /// - Parameter bitrate: In bits per second, at least 1000.
    /// - Throws: `configuration` for a value out of range, `libvpx` when libvpx refuses; the old target then stays.
    package mutating func setBitrate(_ bitrate: Int) throws(VideoEncoderError) {
        try VideoEncoderConfiguration.validate(bitrate: bitrate)
        var changed = libvpxConfiguration
        changed.rc_target_bitrate = UInt32(bitrate / 1000)
        try context.check("vpx_codec_enc_config_set") { vpx_codec_enc_config_set($0, &changed) }
        libvpxConfiguration = changed
        configuration.targetBitrate = bitrate
    }

    /// Limits the quantizer of the frames that follow; nil sets the usual limit.
    private func setQuantizerLimit(_ limit: Int?) throws(VideoEncoderError) {
        var changed = libvpxConfiguration
        if let limit { changed.rc_max_quantizer = max(UInt32(limit), changed.rc_min_quantizer) }
        try context.check("vpx_codec_enc_config_set") { vpx_codec_enc_config_set($0, &changed) }
    }

    /// Lets the encoder look at some macroblocks only, or at all again.
    private mutating func setActive(_ blocks: BlockSet?) throws(VideoEncoderError) {
        if blocks == nil, !isRestricted { return }
        // Cyclic refresh does not heed the map.
        if configuration.codec == .vp9, isRestricted != (blocks != nil) {
            try configuration.setCyclicRefresh(blocks == nil, of: context)
        }
        isRestricted = blocks != nil
        let (columns, rows) = ((configuration.size.width + 15) / 16, (configuration.size.height + 15) / 16)
        if let blocks {
            precondition(blocks.size == configuration.size && blocks.side == BlockSet.macroblock, "of another picture")
            blocks.writeBytes(to: &activeMap)
        }
        try activeMap.withUnsafeMutableBufferPointer { buffer throws(VideoEncoderError) in
            var map = vpx_active_map_t(
                active_map: blocks == nil ? nil : buffer.baseAddress,
                rows: UInt32(rows),
                cols: UInt32(columns)
            )
            try context.check("VP8E_SET_ACTIVEMAP") {
                vpx_codec_control_VP8E_SET_ACTIVEMAP($0, Int32(VP8E_SET_ACTIVEMAP.rawValue), &map)
            }
        }
    }

    /// Without look-ahead there is one packet for a picture, or none.
    private mutating func takeFrame<Result: ~Copyable>(
        _ presentationTime: UInt64,
        _ body: (EncodedFrame, Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        var iterator: vpx_codec_iter_t?
        while let packet = vpx_codec_get_cx_data(context.pointer, &iterator) {
            guard packet.pointee.kind == VPX_CODEC_CX_FRAME_PKT else { continue }
            let frame = packet.pointee.data.frame
            if frame.sz == 0 { continue }
            var quantizer: Int32 = 0
            try context.check("VP8E_GET_LAST_QUANTIZER_64") {
                vpx_codec_control_VP8E_GET_LAST_QUANTIZER_64(
                    $0,
                    Int32(VP8E_GET_LAST_QUANTIZER_64.rawValue),
                    &quantizer
                )
            }
            let encoded = EncodedFrame(
                isKeyframe: frame.flags & UInt32(VPX_FRAME_IS_KEY) != 0,
                quantizer: Int(quantizer),
                presentationTime: presentationTime
            )
            let bytes = UnsafePointer(frame.buf.assumingMemoryBound(to: UInt8.self))
            let data = Span(_unsafeStart: bytes, count: frame.sz)
            patcher?.noteFrame(data)
            return body(encoded, data)
        }
        return nil
    }

    /// A view of the planes. libvpx reads them only.
    private static func image(_ luma: RawSpan, _ chroma: RawSpan, _ layout: NV12Layout) -> vpx_image_t {
        func bytes(_ span: RawSpan) -> UnsafeMutablePointer<UInt8> {
            span.withUnsafeBytes {
                UnsafeMutableRawPointer(mutating: $0.baseAddress!).assumingMemoryBound(to: UInt8.self)
            }
        }
        var image = vpx_image_t()
        let size = layout.size
        vpx_img_wrap(&image, VPX_IMG_FMT_NV12, UInt32(size.width), UInt32(size.height), 1, bytes(luma))
        image.planes = (bytes(luma), bytes(chroma), bytes(chroma) + 1, nil)
        image.stride = (Int32(layout.lumaStride), Int32(layout.chromaStride), Int32(layout.chromaStride), 0)
        image.cs = VPX_CS_BT_709
        image.range = VPX_CR_STUDIO_RANGE
        return image
    }
}

extension BlockSet {
    fileprivate var nonEmpty: BlockSet? { isEmpty ? nil : self }
}
