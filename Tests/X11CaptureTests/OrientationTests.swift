import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct OrientationTests {
    /// On a monitor that is turned, the screen is as people see it, and it is told how the monitor stands.
    @Test(arguments: [("normal", 0x01), ("rotate-90", 0x02), ("rotate-180", 0x04), ("flipped", 0x11)])
    func aTurnedMonitorIsTold(transform: String, rotation: Int) throws {
        let compositor = try Compositor(transform: transform)
        let server = try XServer(.wayland(socket: compositor.socket))
        let connection = try XConnection(display: server.display)
        let monitor = try #require(try connection.listMonitors().first)
        let isUpright = rotation & 0x0A == 0
        #expect(monitor.region.size == (isUpright ? .init(width: 640, height: 480) : .init(width: 480, height: 640)))
        for source in [CaptureSource.screen, .monitor(monitor.name)] {
            let grabber = try ScreenGrabber(connection: connection, source: source)
            #expect(Int(grabber.rotation) == rotation)
            let rule = try Painter(server).fillWithCells()
            #expect(try grabber.grab() == .grabbed)
            #expect(grabber.firstDifference(from: rule) == nil)
        }
    }

    @Test func whereNobodyTellsItIsUpright() throws {
        let server = try XServer(arguments: ["-extension", "RANDR"])
        let connection = try XConnection(display: server.display)
        #expect(try ScreenGrabber(connection: connection, source: .screen).rotation == 1)
    }
}
