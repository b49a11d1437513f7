import Pixels
import TestSupport
import Testing

@testable import X11Capture

/// One window as a source, whatever happens to it and around it.
@Suite struct WindowTests {
    private let place = PixelRect(x: 40, y: 30, width: 200, height: 120)

    private func look(_ grabber: ScreenGrabber, _ connection: XConnection) throws -> GrabOutcome {
        _ = try connection.drainEvents()
        return try grabber.grab()
    }

    @Test func aCoveredWindowIsSeenAsItIs() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "below", at: place)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .window(window))
        #expect(grabber.region == place)
        try painter.fill(PixelRect(x: 0, y: 0, width: 200, height: 120), 0x112233, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.firstDifference { _, _ in 0x112233 } == nil)

        let cover = try painter.openWindow(title: "above", at: PixelRect(x: 0, y: 0, width: 400, height: 300))
        try painter.fill(PixelRect(x: 0, y: 0, width: 400, height: 300), 0xff0000, on: cover)
        try painter.fill(PixelRect(x: 50, y: 60, width: 30, height: 20), 0x445566, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.pixel(49, 60) == 0x112233 && grabber.pixel(50, 60) == 0x445566)
        #expect(grabber.pixel(79, 79) == 0x445566 && grabber.pixel(80, 79) == 0x112233)
    }

    @Test func damageOfACoveredWindowIsTold() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "below", at: place)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .window(window))
        let damage = try #require(try DamageMonitor(connection: connection, source: .window(window)))
        _ = try painter.openWindow(title: "above", at: PixelRect(x: 0, y: 0, width: 400, height: 300))
        var tiles = grabber.noTiles
        try damage.take(addingTo: &tiles, of: grabber.region)
        try painter.fill(PixelRect(x: 70, y: 10, width: 5, height: 5), 1, on: window)
        tiles = grabber.noTiles
        try damage.take(addingTo: &tiles, of: grabber.region)
        var wanted = grabber.noTiles
        wanted.insert(column: 1, row: 0)
        #expect(tiles == wanted)
    }

    @Test func followsMovesResizesAndHiding() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "it", at: place)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .window(window))
        #expect(try look(grabber, connection) == .grabbed)

        // Beyond the edge of the screen, too, and still all of it.
        try painter.configure(window, x: 560, y: 400)
        try painter.fill(PixelRect(x: 0, y: 0, width: 200, height: 120), 0x010203, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.region == PixelRect(x: 560, y: 400, width: 200, height: 120))
        #expect(grabber.firstDifference { _, _ in 0x010203 } == nil)

        try painter.configure(window, x: 10, y: 20, width: 301, height: 77)
        #expect(try look(grabber, connection) == .geometryChanged)
        try painter.fill(PixelRect(x: 0, y: 0, width: 301, height: 77), 0x040506, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.region == PixelRect(x: 10, y: 20, width: 301, height: 77))
        #expect(grabber.firstDifference { _, _ in 0x040506 } == nil)

        try painter.hide(window)
        #expect(try look(grabber, connection) == .sourceLost)
        #expect(try look(grabber, connection) == .sourceLost)
        #expect(grabber.absence == .windowHidden(window))
        try painter.show(window)
        #expect(try look(grabber, connection) == .geometryChanged)
        #expect(try look(grabber, connection) == .grabbed)

        try painter.destroy(window)
        #expect(try look(grabber, connection) == .sourceLost)
        #expect(grabber.absence == .noWindow(window))
        // Another one that has got its identifier is not it.
        #expect(try painter.openWindow(title: "another", at: place, id: window) == window)
        #expect(try look(grabber, connection) == .sourceLost)
    }

    /// Also for whoever looks at it anew, by another connection.
    @Test func aWindowIsKnownByMoreThanItsIdentifier() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "it", at: place)
        let connection = try XConnection(display: server.display)
        let marked = try connection.marked(.window(window))
        #expect(marked != .window(window))
        #expect(try XConnection(display: server.display).marked(.window(window)) == marked)
        _ = try ScreenGrabber(connection: connection, source: marked)
        try painter.destroy(window)
        #expect(throws: X11Error.noWindow(window)) { try connection.marked(.window(window)) }
        #expect(try painter.openWindow(title: "it", at: place, id: window) == window)
        let another = try XConnection(display: server.display)
        #expect(throws: X11Error.noWindow(window)) { try ScreenGrabber(connection: another, source: marked) }
        #expect(try ScreenGrabber(connection: another, source: .window(window)).source != marked)
    }

    /// Window managers hide the frame that they have put around a window, and not the window.
    @Test func followsTheFrameAroundIt() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let whole = PixelRect(x: 0, y: 0, width: 200, height: 120)
        let frame = try painter.openWindow(title: "frame", at: PixelRect(x: 30, y: 40, width: 220, height: 150))
        let window = try painter.openWindow(title: "it", at: place)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .window(window))
        // A frame also comes later, when the window manager does.
        try painter.reparent(window, into: frame, x: 10, y: 20)
        try painter.fill(whole, 0x010203, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.region.x == 40 && grabber.region.y == 60)
        #expect(grabber.firstDifference { _, _ in 0x010203 } == nil)

        try painter.hide(frame)
        #expect(try look(grabber, connection) == .sourceLost)
        try painter.show(frame)
        try painter.fill(whole, 0x040506, on: window)
        #expect(try look(grabber, connection) == .geometryChanged)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.firstDifference { _, _ in 0x040506 } == nil)

        // So fast that nobody has seen it.
        try painter.hide(frame)
        try painter.show(frame)
        try painter.fill(whole, 0x070809, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.firstDifference { _, _ in 0x070809 } == nil)
    }

    /// The X server would crash, and take all windows with it.
    @Test(arguments: [
        PixelSize(width: 40_000, height: 50), PixelSize(width: 50, height: 32_768),
        PixelSize(width: 32_000, height: 32_000),
    ])
    func aWindowThatNoPixmapHoldsIsRefused(size: PixelSize) throws {
        let server = try XServer()
        let region = PixelRect(x: 0, y: 0, width: size.width, height: size.height)
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "it", at: region)
        let connection = try XConnection(display: server.display)
        let error = X11Error.windowTooLarge(window, size)
        #expect(throws: error) { try ScreenGrabber(connection: connection, source: .window(window)) }
        #expect("\(error)".contains("too large to be shared (\(size.width)x\(size.height))"))
        #expect(try connection.screenRegion().width == 640, "the server lives")
    }

    /// The picture of before stays. Nothing of its size is taken, and the server does not refuse to make it still larger.
    @Test func aWindowThatBecomesTooLargeIsAwayUntilItFits() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "it", at: place)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .window(window))
        try painter.fill(PixelRect(x: 0, y: 0, width: 200, height: 120), 0x010203, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        for size in [PixelSize(width: 30_000, height: 9000), PixelSize(width: 40_000, height: 50)] {
            _ = try connection.screenRegion()  // the server has done what was asked of it
            try painter.configure(window, x: 40, y: 30, width: size.width, height: size.height)
            #expect(try connection.region(ofWindow: window).size == size)
            #expect(try look(grabber, connection) == .sourceLost)
            #expect(grabber.absence == .windowTooLarge(window, size))
            #expect(grabber.region == place && grabber.pixel(199, 119) == 0x010203)
        }
        try painter.configure(window, x: 10, y: 20, width: 301, height: 77)
        #expect(try look(grabber, connection) == .geometryChanged)
        try painter.fill(PixelRect(x: 0, y: 0, width: 301, height: 77), 0x040506, on: window)
        let cover = try painter.openWindow(title: "above", at: place)
        try painter.fill(PixelRect(x: 0, y: 0, width: 200, height: 120), 0xff0000, on: cover)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.region == PixelRect(x: 10, y: 20, width: 301, height: 77))
        #expect(grabber.firstDifference { _, _ in 0x040506 } == nil)
    }

    /// X.Org's server does not redirect a window that is too large when it is shown, and gives the screen's pixels for it later.
    @Test func aWindowThatWasTooLargeUnseenShowsNothingOfTheScreen() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let window = try painter.openWindow(title: "it", at: place)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .window(window))
        #expect(try look(grabber, connection) == .grabbed)
        try painter.hide(window)
        try painter.configure(window, x: 40, y: 30, width: 40_000, height: 50)
        try painter.show(window)
        try painter.configure(window, x: 40, y: 30, width: 300, height: 77)
        try painter.fill(PixelRect(x: 0, y: 0, width: 640, height: 480), 0xff0000)
        #expect(try look(grabber, connection) == .geometryChanged)
        try painter.fill(PixelRect(x: 0, y: 0, width: 300, height: 77), 0x040506, on: window)
        #expect(try look(grabber, connection) == .grabbed)
        #expect(grabber.firstDifference { _, _ in 0x040506 } == nil)
    }

    @Test func saysWhatIsWrongWithAWindow() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let connection = try XConnection(display: server.display)
        #expect(throws: X11Error.noWindow(0xdead_beef)) {
            try ScreenGrabber(connection: connection, source: .window(0xdead_beef))
        }
        let window = try painter.openWindow(title: "it", at: place)
        try painter.hide(window)
        #expect(throws: X11Error.windowHidden(window)) {
            try ScreenGrabber(connection: connection, source: .window(window))
        }
        let poor = try XServer(arguments: ["-extension", "Composite"])
        let other = try Painter(poor).openWindow(title: "it", at: place)
        #expect(throws: X11Error.extensionMissing(name: "Composite", version: "0.2")) {
            try ScreenGrabber(connection: try XConnection(display: poor.display), source: .window(other))
        }
    }
}
