import CXCB
package import Pixels

/// The memory layout of a screen's pixels, as the server describes it.
package struct ImageFormat: Equatable, Sendable {
    package let pixelFormat: PixelFormat
    /// Rows begin at multiples of this many bits: 8, 16 or 32.
    package let scanlinePad: Int

    /// The bytes from one row to the next in an image of this width.
    package func bytesPerRow(_ width: Int) -> Int {
        (width * pixelFormat.bitsPerPixel + scanlinePad - 1) / scanlinePad * scanlinePad / 8
    }
}

extension XConnection {
    /// The format of images of a source. Throws `.unsupportedScreen` for palettes and depths below 15.
    package func imageFormat(of source: CaptureSource = .screen) throws(X11Error) -> ImageFormat {
        let setup = xcb_get_setup(raw)!
        var (depth, visualID) = (screen.pointee.root_depth, screen.pointee.root_visual)
        if case .window(let window, _) = source { (depth, visualID) = try look(of: window) }
        guard let visual = oriel_xcb_visual(screen, visualID)?.pointee,
            let pixmap = oriel_xcb_format(setup, depth)?.pointee,
            visual._class == XCB_VISUAL_CLASS_TRUE_COLOR.rawValue
                || visual._class == XCB_VISUAL_CLASS_DIRECT_COLOR.rawValue,
            let pixelFormat = PixelFormat(
                bitsPerPixel: Int(pixmap.bits_per_pixel),
                byteOrder: setup.pointee.image_byte_order == XCB_IMAGE_ORDER_LSB_FIRST.rawValue
                    ? .littleEndian : .bigEndian,
                redMask: visual.red_mask,
                greenMask: visual.green_mask,
                blueMask: visual.blue_mask
            )
        else { throw .unsupportedScreen(depth: Int(depth)) }
        return ImageFormat(pixelFormat: pixelFormat, scanlinePad: Int(pixmap.scanline_pad))
    }

    private func look(of window: xcb_window_t) throws(X11Error) -> (UInt8, xcb_visualid_t) {
        do throws(X11Error) {
            return (try geometry(of: window).depth, try attributes(of: window).visual)
        } catch .requestFailed(_, .badWindow), .requestFailed(_, .badDrawable) {
            throw .noWindow(window)
        }
    }
}
