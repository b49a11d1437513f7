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

    @Test(arguments: GrabMethod.allCases)
    func grabsARegionInBands(method: GrabMethod) throws {
        let server = try XServer()
        let painter = try Painter(server)
        let rule = try painter.fillWithCells()
        let region = CaptureRegion(x: 101, y: 53, width: 200, height: 100)
        let grabber = try ScreenGrabber(
            connection: XConnection(display: server.display),
            source: .region(region),
            buffers: 2,
            methods: [method]
        )
        #expect(try grabber.grab(into: 1, rows: 40..<100) == .grabbed)
        #expect(try grabber.grab(into: 1, rows: 0..<40) == .grabbed)
        #expect(grabber.firstDifference(from: rule, in: 1) == nil)

        // Other rows and buffers stay as they were.
        #expect(try grabber.grab(into: 0) == .grabbed)
        try painter.fill(region, 0)
        #expect(try grabber.grab(into: 1, rows: 10..<20) == .grabbed)
        #expect(grabber.firstDifference(from: { _, _ in 0 }, rows: 10..<20, in: 1) == nil)
        #expect(grabber.firstDifference(from: rule, rows: 20..<100, in: 1) == nil)
        #expect(grabber.firstDifference(from: rule, in: 0) == nil)
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
        #expect(try connection.screenRegion() == CaptureRegion(x: 0, y: 0, width: 320, height: 200))
        #expect(try connection.imageFormat().pixelFormat.bitsPerPixel == 16)
        #expect(throws: X11Error.noSuchScreen(display: server.display + ".2")) {
            try XConnection(display: server.display + ".2")
        }
    }
}
