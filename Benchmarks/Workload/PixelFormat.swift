import CXCB

/// The layout of the pixels of a picture for the server.
struct PixelFormat {
    let bytesPerPixel: Int
    let scanlinePad: Int
    let depth: UInt8
    private let isLittleEndian: Bool
    private let red: UInt32
    private let green: UInt32
    private let blue: UInt32

    init(
        _ setup: UnsafePointer<xcb_setup_t>,
        _ screen: UnsafeMutablePointer<xcb_screen_t>
    ) throws(WorkloadError) {
        let depth = screen.pointee.root_depth
        let formats = UnsafeBufferPointer(
            start: xcb_setup_pixmap_formats(setup),
            count: Int(xcb_setup_pixmap_formats_length(setup))
        )
        guard let pixmap = formats.first(where: { $0.depth == depth }), [16, 32].contains(pixmap.bits_per_pixel),
            let visual = Self.rootVisual(screen)
        else { throw .unsupportedScreen(depth: depth) }
        self.depth = depth
        bytesPerPixel = Int(pixmap.bits_per_pixel) / 8
        scanlinePad = Int(pixmap.scanline_pad) / 8
        isLittleEndian = setup.pointee.image_byte_order == XCB_IMAGE_ORDER_LSB_FIRST.rawValue
        red = visual.red_mask
        green = visual.green_mask
        blue = visual.blue_mask
    }

    func bytesPerRow(_ width: Int) -> Int {
        (width * bytesPerPixel + scanlinePad - 1) / scanlinePad * scanlinePad
    }

    /// The pixel value of a colour 0xRRGGBB.
    func pixel(_ colour: UInt32) -> UInt32 {
        scale(colour >> 16 & 255, red) | scale(colour >> 8 & 255, green) | scale(colour & 255, blue)
    }

    /// The colour 0xRRGGBB of a screen of this depth for one.
    func shown(_ colour: UInt32) -> UInt32 {
        let pixel = pixel(colour)
        return level(pixel, red) << 16 | level(pixel, green) << 8 | level(pixel, blue)
    }

    /// Stores a pixel value at an address.
    func store(_ pixel: UInt32, _ bytes: UnsafeMutableRawPointer) {
        if bytesPerPixel == 4 {
            bytes.storeBytes(of: isLittleEndian ? pixel.littleEndian : pixel.bigEndian, as: UInt32.self)
        } else {
            let half = UInt16(truncatingIfNeeded: pixel)
            bytes.storeBytes(of: isLittleEndian ? half.littleEndian : half.bigEndian, as: UInt16.self)
        }
    }

    /// Reads a pixel value at an address.
    func load(_ bytes: UnsafeRawPointer) -> UInt32 {
        if bytesPerPixel == 4 {
            let pixel = bytes.loadUnaligned(as: UInt32.self)
            return isLittleEndian ? UInt32(littleEndian: pixel) : UInt32(bigEndian: pixel)
        }
        let half = bytes.loadUnaligned(as: UInt16.self)
        return UInt32(isLittleEndian ? UInt16(littleEndian: half) : UInt16(bigEndian: half))
    }

    private func scale(_ level: UInt32, _ mask: UInt32) -> UInt32 {
        if mask == 0 { return 0 }
        let largest = mask >> mask.trailingZeroBitCount
        return ((level * largest + 127) / 255) << mask.trailingZeroBitCount
    }

    private func level(_ pixel: UInt32, _ mask: UInt32) -> UInt32 {
        if mask == 0 { return 0 }
        let largest = mask >> mask.trailingZeroBitCount
        return ((pixel & mask) >> mask.trailingZeroBitCount * 255 + largest / 2) / largest
    }

    private static func rootVisual(_ screen: UnsafeMutablePointer<xcb_screen_t>) -> xcb_visualtype_t? {
        var depths = xcb_screen_allowed_depths_iterator(screen)
        while depths.rem > 0 {
            var visuals = xcb_depth_visuals_iterator(depths.data)
            while visuals.rem > 0 {
                let visual = visuals.data.pointee
                if visual.visual_id == screen.pointee.root_visual && visual.red_mask != 0 { return visual }
                xcb_visualtype_next(&visuals)
            }
            xcb_depth_next(&depths)
        }
        return nil
    }
}
