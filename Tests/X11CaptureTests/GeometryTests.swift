import Pixels
import TestSupport
import Testing

@testable import X11Capture

/// Screens that change while they are shared.
@Suite struct GeometryTests {
    /// Grabs as a loop does, until the outcome is the one expected.
    private func grab(
        _ grabber: ScreenGrabber,
        _ connection: XConnection,
        until expected: GrabOutcome
    ) throws {
        try wait(until: "a grab says \(expected)") {
            _ = try connection.drainEvents()
            return try grabber.grab() == expected
        }
    }

    @Test func followsAMonitorThatIsUnpluggedAndComesBack() throws {
        let server = try XServer(.dummy)
        try server.xrandr("--addmode", "DUMMY1", "1280x720")
        try server.xrandr("--output", "DUMMY1", "--mode", "1280x720", "--right-of", "DUMMY0")
        let painter = try Painter(server)
        let connection = try XConnection(display: server.display)
        #expect(try connection.listMonitors().map(\.name) == ["DUMMY0", "DUMMY1"])
        let grabber = try ScreenGrabber(connection: connection, source: .monitor("DUMMY1"))
        let first = PixelRect(x: 1920, y: 0, width: 1280, height: 720)
        #expect(grabber.region == first)
        try painter.fill(first, 0x123456)
        try grab(grabber, connection, until: .grabbed)
        #expect(grabber.pixel(0, 0) == 0x123456)

        try server.xrandr("--output", "DUMMY1", "--off")
        try grab(grabber, connection, until: .sourceLost)
        #expect(try grabber.grab() == .sourceLost)

        try server.xrandr("--output", "DUMMY1", "--mode", "1280x720", "--below", "DUMMY0")
        try grab(grabber, connection, until: .geometryChanged)
        #expect(grabber.region == PixelRect(x: 0, y: 1080, width: 1280, height: 720))
        try painter.fill(grabber.region, 0x654321)
        try grab(grabber, connection, until: .grabbed)
        #expect(grabber.pixel(1279, 719) == 0x654321)
    }

    @Test func followsAModeChange() throws {
        let server = try XServer(.dummy)
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .screen)
        #expect(grabber.region == PixelRect(x: 0, y: 0, width: 1920, height: 1080))
        try server.xrandr("--output", "DUMMY0", "--mode", "1280x720")
        try grab(grabber, connection, until: .geometryChanged)
        #expect(grabber.region == PixelRect(x: 0, y: 0, width: 1280, height: 720))
        let rule = try Painter(server).fillWithCells()
        try grab(grabber, connection, until: .grabbed)
        #expect(grabber.firstDifference(from: rule) == nil)
    }

    @Test(arguments: GrabMethod.allCases)
    func aShrunkenScreenIsNoErrorEvenBeforeItsEvent(method: GrabMethod) throws {
        let server = try XServer(.vnc(width: 800, height: 600))
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .screen, methods: [method])
        try server.xrandr("--output", "VNC-0", "--mode", "640x480")
        #expect(try grabber.grab() == .geometryChanged)
        #expect(grabber.region == PixelRect(x: 0, y: 0, width: 640, height: 480))
        try grab(grabber, connection, until: .grabbed)
    }

    @Test func aRegionIsLostWhileTheScreenIsTooSmallForIt() throws {
        let server = try XServer(.vnc(width: 800, height: 600))
        let connection = try XConnection(display: server.display)
        let region = PixelRect(x: 700, y: 500, width: 100, height: 100)
        let grabber = try ScreenGrabber(connection: connection, source: .region(region))
        try server.xrandr("--output", "VNC-0", "--mode", "640x480")
        try grab(grabber, connection, until: .sourceLost)
        try server.xrandr("--output", "VNC-0", "--mode", "1024x768")
        try grab(grabber, connection, until: .geometryChanged)
        #expect(try grabber.grab() == .grabbed)
    }

    @Test func followsALogicalMonitor() throws {
        let server = try XServer(.vnc(width: 800, height: 600))
        try server.xrandr("--setmonitor", "A", "400/100x600/100+0+0", "VNC-0")
        try server.xrandr("--setmonitor", "B", "400/100x600/100+400+0", "none")
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .monitor("B"))
        #expect(grabber.region == PixelRect(x: 400, y: 0, width: 400, height: 600))
        try server.xrandr("--delmonitor", "B")
        try grab(grabber, connection, until: .sourceLost)
        try server.xrandr("--setmonitor", "B", "300/100x600/100+500+0", "none")
        try grab(grabber, connection, until: .geometryChanged)
        #expect(grabber.region == PixelRect(x: 500, y: 0, width: 300, height: 600))
    }
}
