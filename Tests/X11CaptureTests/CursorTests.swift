import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct CursorTests {
    @Test func followsThePointer() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        let tracker = try #require(try CursorTracker(connection: connection))
        try server.xdotool("mousemove", "123", "45")
        let cursor = try #require(try tracker.update(after: try connection.drainEvents()))
        #expect(cursor.x == 123 && cursor.y == 45)
        #expect(cursor.shape.pixels.count == cursor.shape.width * cursor.shape.height)
        #expect(cursor.shape.pixels.contains { $0 >> 24 == 255 })

        try server.xdotool("mousemove", "200", "100")
        let moved = try #require(try tracker.update(after: try connection.drainEvents()))
        #expect(moved.x == 200 && moved.y == 100)
        #expect(moved.shape == cursor.shape)

        let painter = try Painter(server)
        try painter.setCursor(glyph: 150)  // a watch
        var changed = moved
        try wait(until: "the pointer has another shape") {
            changed = try #require(try tracker.update(after: try connection.drainEvents()))
            return changed.shape != moved.shape
        }
    }

    @Test func blendsTheImageWhereThePointerIs() throws {
        let server = try XServer()
        let painter = try Painter(server)
        try painter.setCursor(glyph: 34)  // a cross
        let connection = try XConnection(display: server.display)
        let tracker = try #require(try CursorTracker(connection: connection))
        try server.xdotool("mousemove", "50", "40")
        let cursor = try #require(try tracker.update(after: []))
        var picture = Picture(width: 100, height: 80)
        picture.draw(cursor.shape, left: cursor.region.x, top: cursor.region.y)
        let changed = (0..<100 * 80).filter { picture.luma[$0] != 128 }
        #expect(changed.contains(40 * 100 + 50))
        let frame = cursor.region
        for place in changed {
            #expect((frame.x..<frame.x + frame.width).contains(place % 100))
            #expect((frame.y..<frame.y + frame.height).contains(place / 100))
        }
    }

    /// Some servers refuse the image of a cursor whose creator has gone.
    @Test func alwaysShowsAPointer() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        let tracker = try #require(try CursorTracker(connection: connection))
        try Subprocess.run(["xsetroot", "-cursor_name", "left_ptr"], environment: server.environment)
        let cursor = try #require(try tracker.update(after: .cursorChanged))
        #expect(cursor.shape.pixels.contains { $0 >> 24 == 255 })
    }
}

/// The blending by itself.
@Suite struct CursorDrawingTests {
    private func shape(_ width: Int, _ height: Int, _ pixel: UInt32) -> CursorShape {
        CursorShape(
            hotspotX: 0,
            hotspotY: 0,
            width: width,
            height: height,
            pixels: Array(repeating: pixel, count: width * height)
        )
    }

    @Test(
        arguments: [
            (0xffff_ffff, [235, 128, 128]), (0xff00_0000, [16, 128, 128]), (0xffff_0000, [81, 90, 240]),
            (0xff00_ff00, [145, 54, 34]), (0xff00_00ff, [41, 240, 110]),
        ] as [(UInt32, [UInt8])]
    )
    func opaqueColoursAreBT601InLimitedRange(pixel: UInt32, expected: [UInt8]) {
        var picture = Picture(width: 4, height: 4)
        picture.draw(shape(2, 2, pixel), left: 2, top: 2)
        #expect([picture.luma[10], picture.chroma[6], picture.chroma[7]] == expected)
        #expect(picture.luma[0] == 128 && picture.chroma[0] == 128)
    }

    @Test func halfTransparentMixes() {
        var picture = Picture(width: 2, height: 2, luma: 16)
        picture.draw(shape(2, 2, 0x8080_8080), left: 0, top: 0)
        #expect(picture.luma == [126, 126, 126, 126])
        picture.draw(shape(2, 2, 0), left: 0, top: 0)
        #expect(picture.luma == [126, 126, 126, 126])
        #expect(picture.chroma == [128, 128])
    }

    @Test func aQuarterOfASquareGivesAQuarterOfItsColour() {
        var picture = Picture(width: 4, height: 4)
        picture.draw(shape(1, 1, 0xff00_00ff), left: 1, top: 1)
        #expect(picture.chroma[0] == 156 && picture.chroma[1] == 123)
        #expect(picture.chroma[2...].allSatisfy { $0 == 128 })
    }

    @Test func isClippedAtEveryEdge() {
        for top in -6...8 {
            for left in -6...9 {
                var picture = Picture(width: 8, height: 6)
                picture.draw(shape(5, 4, 0xffff_ffff), left: left, top: top)
                for y in 0..<6 {
                    for x in 0..<8 {
                        let inside = (left..<left + 5).contains(x) && (top..<top + 4).contains(y)
                        #expect(picture.luma[y * 8 + x] == (inside ? 235 : 128))
                    }
                }
            }
        }
    }
}

/// A grey NV12 picture without padding.
private struct Picture {
    var luma: [UInt8]
    var chroma: [UInt8]
    let layout: NV12Layout

    init(width: Int, height: Int, luma: UInt8 = 128) {
        layout = NV12Layout(size: PixelSize(width: width, height: height), lumaStride: width, chromaStride: width)
        self.luma = Array(repeating: luma, count: width * height)
        chroma = Array(repeating: 128, count: width * height / 2)
    }

    mutating func draw(_ shape: CursorShape, left: Int, top: Int) {
        let layout = layout
        luma.withUnsafeMutableBytes { luma in
            chroma.withUnsafeMutableBytes { chroma in
                var lumaBytes = luma.mutableBytes
                var chromaBytes = chroma.mutableBytes
                shape.draw(left: left, top: top, luma: &lumaBytes, chroma: &chromaBytes, layout: layout)
            }
        }
    }
}

extension CursorTracker {
    /// The pointer now, or nil while it is on another screen.
    fileprivate func update(after events: XEvents) throws(X11Error) -> Cursor? { try answer(ask(), after: events) }
}
