import CVPX
import Pixels
import VideoEncoding

/// libvpx's decoder, keeping the newest picture.
struct Decoder: ~Copyable {
    private let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
    private(set) var size = PixelSize(width: 0, height: 0)
    private(set) var luma: [UInt8] = []
    /// Half as wide and high.
    private(set) var u: [UInt8] = []
    private(set) var v: [UInt8] = []

    init(_ codec: VideoCodec) {
        context.initialize(to: vpx_codec_ctx_t())
        let interface = codec == .vp8 ? vpx_codec_vp8_dx() : vpx_codec_vp9_dx()
        let code = vpx_codec_dec_init_ver(context, interface, nil, 0, oriel_vpx_decoder_abi_version)
        precondition(code == VPX_CODEC_OK)
    }

    deinit {
        vpx_codec_destroy(context)
        context.deallocate()
    }

    /// Returns whether a picture came out without an error.
    mutating func decode(_ data: Span<UInt8>) -> Bool {
        let code = data.withUnsafeBytes {
            vpx_codec_decode(context, $0.baseAddress!.assumingMemoryBound(to: UInt8.self), UInt32($0.count), nil, 0)
        }
        var iterator: vpx_codec_iter_t?
        guard code == VPX_CODEC_OK, let image = vpx_codec_get_frame(context, &iterator) else { return false }
        size = PixelSize(width: Int(image.pointee.d_w), height: Int(image.pointee.d_h))
        let (planes, strides) = (image.pointee.planes, image.pointee.stride)
        luma = Self.bytes(planes.0!, Int(strides.0), size.width, size.height)
        u = Self.bytes(planes.1!, Int(strides.1), size.width / 2, size.height / 2)
        v = Self.bytes(planes.2!, Int(strides.2), size.width / 2, size.height / 2)
        var corrupted: Int32 = 0
        let status = vpx_codec_control_VP8D_GET_FRAME_CORRUPTED(
            context,
            Int32(VP8D_GET_FRAME_CORRUPTED.rawValue),
            &corrupted
        )
        return status == VPX_CODEC_OK && corrupted == 0
    }

    private static func bytes(_ plane: UnsafePointer<UInt8>, _ stride: Int, _ width: Int, _ height: Int) -> [UInt8] {
        (0..<height).flatMap { UnsafeBufferPointer(start: plane + $0 * stride, count: width) }
    }
}
