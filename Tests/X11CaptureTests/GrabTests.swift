import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct GrabTests {
    @Test(arguments: [16, 24, 30], GrabMethod.allCases)
    func grabsExactPixels(depth: Int, method: GrabMethod) throws {
        // An odd width has padded rows at depth 16.
        let server = try XServer(.virtual(width: 331, height: 203, depth: depth))
        let rule = try Painter(server).fillWithCells()
        let grabber = try ScreenGrabber(
            connection: XConnection(display: server.display),
            source: .screen,
            methods: [method]
        )
        #expect(try grabber.grab() == .grabbed)
        #expect(grabber.method == method)
        #expect(grabber.firstDifference(from: rule) == nil)
    }

    @Test func readsTheFormatsOfDepths() throws {
        let rgb30 = try imageFormat(depth: 30).pixelFormat
        #expect(rgb30.redMask == 0x3ff0_0000 && rgb30.greenMask == 0xffc00 && rgb30.blueMask == 0x3ff)
        let rgb565 = try imageFormat(depth: 16)
        #expect(
            rgb565.pixelFormat.bitsPerPixel == 16 && rgb565.pixelFormat.redMask == 0xf800
                && rgb565.bytesPerRow(331) == 664
        )
        #expect(throws: X11Error.unsupportedScreen(depth: 8)) { try imageFormat(depth: 8) }
    }

    private func imageFormat(depth: Int) throws -> ImageFormat {
        let server = try XServer(.virtual(width: 64, height: 64, depth: depth))
        return try XConnection(display: server.display).imageFormat()
    }

    /// A screen on which rectangles are painted, and a picture that follows them: as bands, as packed pieces, one of
    /// several rows of tiles, and of tiles that have not changed.
    @Test(arguments: [24, 16], GrabMethod.allCases)
    func followsChangesTileByTile(depth: Int, method: GrabMethod) throws {
        let server = try XServer(.virtual(width: 611, height: 403, depth: depth))
        let painter = try Painter(server)
        let region = PixelRect(x: 21, y: 13, width: 585, height: 381)
        let grabber = try ScreenGrabber(
            connection: XConnection(display: server.display),
            source: .region(region),
            methods: [method]
        )
        let cells = try painter.fillWithCells()
        var pixels = (0..<403).map { y in (0..<611).map { x in cells(x, y) } }
        var changed = grabber.noTiles
        #expect(try grabber.grab(grabber.noTiles, changed: &changed) == .grabbed)
        #expect(changed.isFull)
        #expect(grabber.firstDifference { pixels[$1][$0] } == nil)

        var generator = SystemRandomNumberGenerator()
        for round in 0..<60 {
            var suspects = grabber.noTiles
            var wanted = grabber.noTiles
            for number in 0..<Int.random(in: 0...3, using: &generator) {
                let x = Int.random(in: 0..<600, using: &generator)
                let y = Int.random(in: 0..<390, using: &generator)
                let spot = PixelRect(
                    x: x,
                    y: y,
                    width: .random(in: 1...(round % 3 == 0 ? 611 - x : min(20, 611 - x)), using: &generator),
                    height: .random(in: 1...(round % 4 == 0 ? 403 - y : min(20, 403 - y)), using: &generator)
                )
                let value = UInt32(round * 100 + number + 1)
                try painter.fill(spot, value)
                for y in spot.y..<spot.y + spot.height {
                    for x in spot.x..<spot.x + spot.width {
                        if pixels[y][x] != value {
                            wanted.insert(PixelRect(x: x - region.x, y: y - region.y, width: 1, height: 1))
                        }
                        pixels[y][x] = value
                    }
                }
            }
            // What is suspected wrongly costs time and changes nothing.
            suspects.formUnion(wanted)
            for _ in 0..<Int.random(in: 0...4, using: &generator) {
                suspects.insert(
                    column: .random(in: 0..<suspects.columns, using: &generator),
                    row: .random(in: 0..<suspects.rows, using: &generator)
                )
            }
            #expect(try grabber.grab(suspects, changed: &changed) == .grabbed)
            #expect(changed == wanted)
        }
        #expect(grabber.firstDifference { pixels[$1][$0] } == nil)
    }

    @Test func leavesAloneWhatIsNotSuspected() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let grabber = try ScreenGrabber(connection: XConnection(display: server.display), source: .screen)
        #expect(try grabber.grab() == .grabbed)
        try painter.fill(PixelRect(x: 0, y: 0, width: 640, height: 480), 0x123456)
        var suspects = grabber.noTiles
        suspects.insert(column: 2, row: 3)
        var changed = grabber.noTiles
        #expect(try grabber.grab(suspects, changed: &changed) == .grabbed)
        #expect(changed == suspects)
        #expect(grabber.pixel(130, 200) == 0x123456 && grabber.pixel(200, 200) != 0x123456)
    }

    @Test func fallsBackToTheSocketWithAWarning() throws {
        let server = try XServer(arguments: ["-extension", "MIT-SHM"])
        let rule = try Painter(server).fillWithCells()
        let grabber = try ScreenGrabber(connection: XConnection(display: server.display), source: .screen)
        #expect(grabber.method == .socket)
        #expect(grabber.warning?.contains("slow") == true)
        #expect(try grabber.grab() == .grabbed)
        #expect(grabber.firstDifference(from: rule) == nil)
    }

    @Test func prefersDescriptors() throws {
        let server = try XServer()
        let grabber = try ScreenGrabber(connection: XConnection(display: server.display), source: .screen)
        #expect(grabber.method == .sharedDescriptor)
        #expect(grabber.warning == nil)
    }

    @Test func leavesNoSegmentBehind() throws {
        let server = try XServer()
        func segments() throws -> Int {
            let list = try Subprocess.run(["ipcs", "-m", "-p"])
            return list.split(separator: "\n").count { line in
                line.split(separator: " ").contains("\(server.process.pid)")
            }
        }
        do {
            let connection = try XConnection(display: server.display)
            let grabber = try ScreenGrabber(connection: connection, source: .screen, methods: [.sharedSegment])
            #expect(try grabber.grab() == .grabbed)
            #expect(try segments() > 0)
        }
        try wait(until: "the segments are gone") { try segments() == 0 }
    }

    @Test func honoursTheScreenNumber() throws {
        let server = try XServer(arguments: ["-screen", "1", "320x200x16"])
        let connection = try XConnection(display: server.display + ".1")
        #expect(try connection.screenRegion() == PixelRect(x: 0, y: 0, width: 320, height: 200))
        #expect(try connection.imageFormat().pixelFormat.bitsPerPixel == 16)
        #expect(throws: X11Error.noSuchScreen(display: server.display + ".2")) {
            try XConnection(display: server.display + ".2")
        }
    }
}
