internal import CPixels

/// How an RGB pixel is packed into memory, as an X server describes its images at run time.
package struct PixelFormat: Equatable, Hashable, Sendable {
    package enum ByteOrder: Sendable { case littleEndian, bigEndian }

    /// 16, 24 or 32, including unused bits.
    package let bitsPerPixel: Int
    package let byteOrder: ByteOrder
    /// The masks of the colours in the pixel, read as a number.
    package let redMask: UInt32
    package let greenMask: UInt32
    package let blueMask: UInt32

    /// Nil if a pixel is not 16, 24 or 32 bits, or if a mask is empty, has gaps, or has bits in common with another or
    /// outside the pixel.
    package init?(
        bitsPerPixel: Int,
        byteOrder: ByteOrder,
        redMask: UInt32,
        greenMask: UInt32,
        blueMask: UInt32
    ) {
        guard [16, 24, 32].contains(bitsPerPixel) else { return nil }
        var used: UInt32 = 0
        for mask in [redMask, greenMask, blueMask] {
            let bits = mask >> mask.trailingZeroBitCount
            guard mask != 0, bits & (bits &+ 1) == 0, mask & used == 0, mask.leadingZeroBitCount >= 32 - bitsPerPixel
            else { return nil }
            used |= mask
        }
        self.bitsPerPixel = bitsPerPixel
        self.byteOrder = byteOrder
        self.redMask = redMask
        self.greenMask = greenMask
        self.blueMask = blueMask
    }

    /// Blue, green, red and an unused byte: the format of practically every X server at depths 24 and 32.
    package static let bgrx = PixelFormat(
        bitsPerPixel: 32,
        byteOrder: .littleEndian,
        redMask: 0xff0000,
        greenMask: 0xff00,
        blueMask: 0xff
    )!

    package var bytesPerPixel: Int { bitsPerPixel / 8 }

    /// Whether the bytes in memory are blue, green, red and one more, in any description.
    var isBGRX: Bool {
        guard bitsPerPixel == 32 else { return false }
        let masks = [redMask, greenMask, blueMask]
        switch byteOrder {
        case .littleEndian: return masks == [0xff0000, 0xff00, 0xff]
        case .bigEndian: return masks == [0xff00, 0xff0000, 0xff00_0000]
        }
    }

    var packed: pixels_packed_format {
        pixels_packed_format(
            bytes_per_pixel: UInt8(bytesPerPixel),
            big_endian: byteOrder == .bigEndian,
            red: Self.channel(redMask),
            green: Self.channel(greenMask),
            blue: Self.channel(blueMask)
        )
    }

    private static func channel(_ mask: UInt32) -> pixels_channel {
        let bits = mask.nonzeroBitCount
        return pixels_channel(
            mask: mask,
            left_shift: UInt8(mask.leadingZeroBitCount),
            repeat: bits < 8 ? UInt8(bits) : 0
        )
    }
}
