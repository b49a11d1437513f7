import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct OrientationTests {
    /// As it stands in RandR's protocol: the four turns, and mirrored before they are turned.
    @Test(arguments: [
        (0x01, 0, false), (0x02, 1, false), (0x04, 2, false), (0x08, 3, false),
        (0x11, 0, true), (0x12, 1, true), (0x21, 2, true), (0x22, 3, true), (0x28, 1, true),
        (0x31, 2, false), (0x32, 3, false), (0x34, 0, false), (0x00, 0, false),
    ])
    func rotationsAreUnderstood(rotation: Int, quarterTurns: Int, isMirrored: Bool) {
        let orientation = MonitorOrientation(rotation: UInt16(rotation))
        #expect(orientation.quarterTurns == quarterTurns && orientation.isMirrored == isMirrored)
    }

    /// On a monitor that is turned, the screen is as people see it, and it is told how the monitor stands.
    @Test(arguments: [("normal", 0, false), ("rotate-90", 1, false), ("rotate-180", 2, false), ("flipped", 0, true)])
    func aTurnedMonitorIsTold(transform: String, quarterTurns: Int, isMirrored: Bool) throws {
        let compositor = try Compositor(transform: transform)
        let server = try XServer(.wayland(socket: compositor.socket))
        let connection = try XConnection(display: server.display)
        let monitor = try #require(try connection.listMonitors().first)
        let isUpright = quarterTurns.isMultiple(of: 2)
        #expect(monitor.region.size == (isUpright ? .init(width: 640, height: 480) : .init(width: 480, height: 640)))
        for source in [CaptureSource.screen, .monitor(monitor.name)] {
            let grabber = try ScreenGrabber(connection: connection, source: source)
            #expect(grabber.orientation.quarterTurns == quarterTurns)
            #expect(grabber.orientation.isMirrored == isMirrored)
            let rule = try Painter(server).fillWithCells()
            #expect(try grabber.grab() == .grabbed)
            #expect(grabber.firstDifference(from: rule) == nil)
        }
    }

    @Test func whereNobodyTellsItIsUpright() throws {
        let server = try XServer(arguments: ["-extension", "RANDR"])
        let connection = try XConnection(display: server.display)
        #expect(try ScreenGrabber(connection: connection, source: .screen).orientation == .upright)
    }
}
