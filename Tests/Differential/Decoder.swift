internal import CAOM
internal import CVPX
package import Media
package import Pixels

/// The decoder of libvpx or libaom, keeping the newest picture.
package struct Decoder: ~Copyable {
    private enum Library {
        case libvpx(UnsafeMutablePointer<vpx_codec_ctx_t>)
        case libaom(UnsafeMutablePointer<aom_codec_ctx_t>)
    }

    private let library: Library
    package private(set) var picture = PlanarPicture()

    /// The matrix that the stream names for its newest picture; nil where it names none.
    package enum Matrix { case bt601, bt709, other }
    package private(set) var matrix: Matrix?

    package var size: PixelSize { picture.size }
    package var luma: [UInt8] { picture.y }
    package var u: [UInt8] { picture.u }
    package var v: [UInt8] { picture.v }

    package init(_ codec: VideoCodec) {
        switch codec {
        case .vp8, .vp9:
            let context = UnsafeMutablePointer<vpx_codec_ctx_t>.allocate(capacity: 1)
            context.initialize(to: vpx_codec_ctx_t())
            let interface = codec == .vp8 ? vpx_codec_vp8_dx() : vpx_codec_vp9_dx()
            let code = vpx_codec_dec_init_ver(context, interface, nil, 0, oriel_vpx_decoder_abi_version)
            precondition(code == VPX_CODEC_OK)
            library = .libvpx(context)
        case .av1:
            let context = UnsafeMutablePointer<aom_codec_ctx_t>.allocate(capacity: 1)
            context.initialize(to: aom_codec_ctx_t())
            let code = aom_codec_dec_init_ver(context, aom_codec_av1_dx(), nil, 0, oriel_aom_decoder_abi_version)
            precondition(code == AOM_CODEC_OK)
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

    /// Returns whether a picture came out without an error.
    package mutating func decode(_ data: Span<UInt8>) -> Bool {
        data.withUnsafeBufferPointer {
            switch library {
            case .libvpx(let context): decode($0, context)
            case .libaom(let context): decode($0, context)
            }
        }
    }

    private mutating func decode(
        _ data: UnsafeBufferPointer<UInt8>,
        _ context: UnsafeMutablePointer<vpx_codec_ctx_t>
    ) -> Bool {
        let code = vpx_codec_decode(context, data.baseAddress, UInt32(data.count), nil, 0)
        var iterator: vpx_codec_iter_t?
        guard code == VPX_CODEC_OK, let image = vpx_codec_get_frame(context, &iterator)?.pointee else { return false }
        switch image.cs {
        case VPX_CS_UNKNOWN: matrix = nil
        case VPX_CS_BT_601: matrix = .bt601
        case VPX_CS_BT_709: matrix = .bt709
        default: matrix = .other
        }
        keep(
            PixelSize(width: Int(image.d_w), height: Int(image.d_h)),
            (image.planes.0!, image.planes.1!, image.planes.2!),
            strides: (Int(image.stride.0), Int(image.stride.1), Int(image.stride.2))
        )
        var corrupted: Int32 = 0
        let status = vpx_codec_control_VP8D_GET_FRAME_CORRUPTED(
            context,
            Int32(VP8D_GET_FRAME_CORRUPTED.rawValue),
            &corrupted
        )
        return status == VPX_CODEC_OK && corrupted == 0
    }

    private mutating func decode(
        _ data: UnsafeBufferPointer<UInt8>,
        _ context: UnsafeMutablePointer<aom_codec_ctx_t>
    ) -> Bool {
        let code = aom_codec_decode(context, data.baseAddress, data.count, nil)
        var iterator: aom_codec_iter_t?
        guard code == AOM_CODEC_OK, let image = aom_codec_get_frame(context, &iterator)?.pointee else { return false }
        switch image.mc {
        case AOM_CICP_MC_UNSPECIFIED: matrix = nil
        case AOM_CICP_MC_BT_601: matrix = .bt601
        case AOM_CICP_MC_BT_709: matrix = .bt709
        default: matrix = .other
        }
        keep(
            PixelSize(width: Int(image.d_w), height: Int(image.d_h)),
            (image.planes.0!, image.planes.1!, image.planes.2!),
            strides: (Int(image.stride.0), Int(image.stride.1), Int(image.stride.2))
        )
        return true
    }

    private mutating func keep(
        _ size: PixelSize,
        _ planes: (UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt8>, UnsafeMutablePointer<UInt8>),
        strides: (Int, Int, Int)
    ) {
        picture.copy(PlanarPicture.Source(planes.0, planes.1, planes.2, strides: strides), size: size)
    }
}
