internal import CAOM
internal import CVPX
package import Media
package import Pixels

/// A decoder of libvpx or libaom, with one thread. Peers are not trusted: any fault of a frame is an error.
package struct VideoDecoder: ~Copyable {
    /// Accepted widths and heights, in pixels.
    package static let sides = 2...4096

    private enum Library {
        case libvpx(UnsafeMutablePointer<vpx_codec_ctx_t>)
        case libaom(UnsafeMutablePointer<aom_codec_ctx_t>)
    }

    package let codec: VideoCodec
    private let library: Library

    package init(_ codec: VideoCodec) throws(VideoDecoderError) {
        self.codec = codec
        switch codec {
        case .vp8, .vp9:
            let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
            context.initialize(to: vpx_codec_ctx_t())
            let interface = codec == .vp8 ? vpx_codec_vp8_dx() : vpx_codec_vp9_dx()
            let code = vpx_codec_dec_init_ver(context, interface, nil, 0, oriel_vpx_decoder_abi_version)
            guard code == VPX_CODEC_OK else {
                context.deallocate()
                throw Self.error("vpx_codec_dec_init", code)
            }
            library = .libvpx(context)
        case .av1:
            let context = UnsafeMutablePointer<aom_codec_ctx_t>.allocate(capacity: 1)
            context.initialize(to: aom_codec_ctx_t())
            let code = aom_codec_dec_init_ver(context, aom_codec_av1_dx(), nil, 0, oriel_aom_decoder_abi_version)
            guard code == AOM_CODEC_OK else {
                context.deallocate()
                throw Self.error("aom_codec_dec_init", code)
            }
            library = .libaom(context)
        }
    }

    deinit {
        switch library {
        case .libvpx(let context):
            vpx_codec_destroy(context)
            context.deallocate()
        case .libaom(let context):
            aom_codec_destroy(context)
            context.deallocate()
        }
    }

    /// Decodes a frame. At an odd width or height, the last column or row is left out.
    ///
    /// - Returns: whether the frame shows a picture, which is then in `picture`.
    package mutating func decode(_ frame: Span<UInt8>, into picture: inout PlanarPicture) throws(VideoDecoderError)
        -> Bool
    {
        try AnnouncedSize.check(frame, codec)
        guard codec == .vp9, frame.count > 0, VP9Index.size(in: frame) == nil else {
            return try decodeChecked(frame, into: &picture)
        }
        let superframe = VP9Index.adding(to: frame)
        return try decodeChecked(superframe.span, into: &picture)
    }

    private func decodeChecked(_ frame: Span<UInt8>, into picture: inout PlanarPicture) throws(VideoDecoderError)
        -> Bool
    {
        try frame.withUnsafeBufferPointer { bytes throws(VideoDecoderError) in
            switch library {
            case .libvpx(let context): try Self.decode(bytes, context, into: &picture)
            case .libaom(let context): try Self.decode(bytes, context, into: &picture)
            }
        }
    }

    private static func decode(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ context: UnsafeMutablePointer<vpx_codec_ctx_t>,
        into picture: inout PlanarPicture
    ) throws(VideoDecoderError) -> Bool {
        let code = vpx_codec_decode(context, bytes.baseAddress, UInt32(bytes.count), nil, 0)
        guard code == VPX_CODEC_OK else { throw error("vpx_codec_decode", code) }
        var iterator: vpx_codec_iter_t?
        var shown: vpx_image_t?
        while let image = vpx_codec_get_frame(context, &iterator)?.pointee { shown = image }
        guard let shown else { return false }
        guard shown.fmt == VPX_IMG_FMT_I420 else { throw .format }
        let (planes, strides) = (shown.planes, shown.stride)
        try keep(shown.d_w, shown.d_h, (planes.0, planes.1, planes.2), (strides.0, strides.1, strides.2), in: &picture)
        return true
    }

    private static func decode(
        _ bytes: UnsafeBufferPointer<UInt8>,
        _ context: UnsafeMutablePointer<aom_codec_ctx_t>,
        into picture: inout PlanarPicture
    ) throws(VideoDecoderError) -> Bool {
        let code = aom_codec_decode(context, bytes.baseAddress, bytes.count, nil)
        guard code == AOM_CODEC_OK else { throw error("aom_codec_decode", code) }
        var iterator: aom_codec_iter_t?
        var shown: aom_image_t?
        while let image = aom_codec_get_frame(context, &iterator)?.pointee { shown = image }
        guard let shown else { return false }
        guard shown.fmt == AOM_IMG_FMT_I420 else { throw .format }
        let (planes, strides) = (shown.planes, shown.stride)
        try keep(shown.d_w, shown.d_h, (planes.0, planes.1, planes.2), (strides.0, strides.1, strides.2), in: &picture)
        return true
    }

    /// The planes are the library's, valid until its next call.
    private static func keep(
        _ width: UInt32,
        _ height: UInt32,
        _ planes: (UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?, UnsafeMutablePointer<UInt8>?),
        _ strides: (y: Int32, u: Int32, v: Int32),
        in picture: inout PlanarPicture
    ) throws(VideoDecoderError) {
        let (width, height) = (Int(width), Int(height))
        guard sides ~= width, sides ~= height, let y = planes.0, let u = planes.1, let v = planes.2 else {
            throw .size(width: width, height: height)
        }
        let size = PixelSize(width: width & ~1, height: height & ~1)
        let strides = (Int(strides.y), Int(strides.u), Int(strides.v))
        picture.copy(PlanarPicture.Source(y, u, v, strides: strides), size: size)
    }

    private static func error(_ call: String, _ code: vpx_codec_err_t) -> VideoDecoderError {
        .library(call: call, code: code.rawValue, reason: String(cString: vpx_codec_err_to_string(code)))
    }

    private static func error(_ call: String, _ code: aom_codec_err_t) -> VideoDecoderError {
        .library(call: call, code: code.rawValue, reason: String(cString: aom_codec_err_to_string(code)))
    }
}
