import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct SourceTests {
    @Test func parsesRegions() throws {
        let region = try PixelRect(geometry: "1280x720+100+50")
        #expect(region == PixelRect(x: 100, y: 50, width: 1280, height: 720))
        #expect(try PixelRect(geometry: region.description) == region)
    }

    @Test(arguments: [
        "", "1280x720", "0x720+0+0", "1280x0+0+0", "-1x5+0+0", "10x10-5+0", "10x10+-5+0", "10x10+0+0+0", "10x10+0+",
        "32768x1+0+0", "99999999999999999999x1+0+0", "10 x10+0+0", "10x10+0+0 ", "١x1+0+0", "0x10x10+0+0",
    ])
    func rejectsWhatIsNoRegion(text: String) {
        #expect(throws: X11Error.badRegion(text)) { try PixelRect(geometry: text) }
    }

    @Test func tellsWhichPartOfARegionIsVisible() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        let partly = PixelRect(x: 600, y: 400, width: 100, height: 100)
        let visible = PixelRect(x: 600, y: 400, width: 40, height: 80)
        #expect(throws: X11Error.regionPartlyOutside(partly, visible: visible)) {
            try ScreenGrabber(connection: connection, source: .region(partly))
        }
        let outside = PixelRect(x: 640, y: 0, width: 10, height: 10)
        let screen = PixelRect(x: 0, y: 0, width: 640, height: 480)
        #expect(throws: X11Error.regionOutside(outside, screen: screen)) {
            try ScreenGrabber(connection: connection, source: .region(outside))
        }
    }

    @Test func namesTheMonitorsThereAre() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        let monitors = try connection.listMonitors()
        #expect(monitors.map(\.region) == [PixelRect(x: 0, y: 0, width: 640, height: 480)])
        let error = X11Error.noMonitor("HDMI-9", available: monitors.map(\.name))
        #expect(error.description.contains(monitors[0].name))
        #expect(throws: error) { try ScreenGrabber(connection: connection, source: .monitor("HDMI-9")) }
    }

    @Test func saysWhenRandRIsMissing() throws {
        let server = try XServer(arguments: ["-extension", "RANDR"])
        let connection = try XConnection(display: server.display)
        #expect(throws: X11Error.extensionMissing(name: "RandR", version: "1.5")) { try connection.listMonitors() }
        #expect(try ScreenGrabber(connection: connection, source: .screen).grab() == .grabbed)
    }

    @Test func sourcesAreUnderstoodAsTheyAreSaid() {
        let region = PixelRect(x: 1, y: 2, width: 30, height: 40)
        for source in [CaptureSource.screen, .monitor("HDMI 1"), .region(region), .window(0x240_0007)] {
            #expect(CaptureSource("\(source)") == source)
            #expect(CaptureSource(source.words) == source)
        }
        let marked = CaptureSource.window(0x240_0007, mark: .max - 1)
        #expect("\(marked)" == "window 0x2400007")
        #expect(CaptureSource(marked.words) == marked)
        for text in [
            "", "screens", "screen 1", "monitor", "region", "region 1x1", "window", "window 12", "window 0xz",
            "window 0x1 g", "window 0x1 ",
        ] {
            #expect(CaptureSource(text) == nil)
        }
    }

    @Test func listsWindows() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        #expect(try connection.listWindows() == [])
        let region = PixelRect(x: 20, y: 30, width: 200, height: 100)
        let painter = try Painter(server)
        let id = try painter.openWindow(title: "Café", at: region)
        #expect(try connection.listWindows() == [WindowInfo(id: id, title: "Café", region: region)])
    }

    /// A window manager that died leaves its list.
    @Test func aStaleListOfWindowsIsNotBelieved() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        let painter = try Painter(server)
        let region = PixelRect(x: 20, y: 30, width: 200, height: 100)
        let manager = try painter.openWindow(title: "manager", at: region)
        let old = try painter.openWindow(title: "old", at: region)
        let new = try painter.openWindow(title: "new", at: region)
        let listed = { try connection.listWindows().map(\.id) }
        try painter.set("_NET_CLIENT_LIST", of: connection.root, to: [old])
        #expect(try listed() == [manager, old, new], "nobody keeps it")
        try painter.set("_NET_SUPPORTING_WM_CHECK", of: connection.root, to: [manager])
        #expect(try listed() == [manager, old, new], "another window has the identifier")
        try painter.set("_NET_SUPPORTING_WM_CHECK", of: manager, to: [manager])
        #expect(try listed() == [old])
        try painter.destroy(manager)
        #expect(try listed() == [old, new])
    }
}
