import Pixels
import Posix
import TestSupport
import Testing

@testable import X11Capture

/// Servers that are not there, go, or stop answering.
@Suite struct ConnectionTests {
    private let brief = Duration.milliseconds(300)

    @Test(arguments: [":9999", "nonsense", ":not-a-number"])
    func namesTheDisplayItCannotReach(display: String) {
        let error = X11Error.cannotConnect(display: display)
        #expect(throws: error) { try XConnection(display: display) }
        #expect(error.description.contains("\"\(display)\""))
    }

    @Test func wantsADisplayName() {
        #expect(throws: X11Error.noDisplayNamed) { try XConnection(display: "") }
    }

    @Test func noticesThatTheServerDied() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        let grabber = try ScreenGrabber(connection: connection, source: .screen)
        let lost = X11Error.connectionLost(display: server.display)
        try server.crash()
        #expect(throws: lost) { try grabber.grab() }
        #expect(throws: lost) { try connection.drainEvents() }
        #expect(throws: lost) { try connection.synchronize() }
        #expect(throws: lost) { try connection.listWindows() }
    }

    @Test func noticesTheDeathOfAnIdleServerByItsDescriptor() throws {
        let server = try XServer()
        let connection = try XConnection(display: server.display)
        try server.crash()
        #expect(waitReadable(connection.fileDescriptor, until: nil))
        #expect(throws: X11Error.connectionLost(display: server.display)) { try connection.drainEvents() }
    }

    @Test(arguments: GrabMethod.allCases)
    func aFrozenServerIsAnErrorAndWorksAgainLater(method: GrabMethod) throws {
        let server = try XServer()
        let painter = try Painter(server)
        let connection = try XConnection(display: server.display, timeout: brief)
        let grabber = try ScreenGrabber(connection: connection, source: .screen, methods: [method])
        server.freeze()
        #expect(throws: X11Error.notResponding(display: server.display)) { try grabber.grab() }
        #expect(throws: X11Error.notResponding(display: server.display)) { try connection.synchronize() }
        #expect(try connection.drainEvents() == [])
        server.thaw()
        try painter.fill(PixelRect(x: 0, y: 0, width: 640, height: 480), 0xabcdef)
        try wait(until: "the server answers again") { (try? grabber.grab()) == .grabbed }
        #expect(grabber.firstDifference(from: { _, _ in 0xabcdef }) == nil)
    }

    @Test func doesNotHangConnectingToAFrozenServer() throws {
        let server = try XServer()
        server.freeze()
        #expect(throws: X11Error.notResponding(display: server.display)) {
            try XConnection(display: server.display, timeout: brief)
        }
    }

    @Test func worksWithoutTheOptionalExtensions() throws {
        let server = try XServer(arguments: [
            "-extension", "DAMAGE", "-extension", "XFIXES", "-extension", "RANDR", "-extension", "MIT-SHM",
        ])
        let connection = try XConnection(display: server.display)
        #expect(try DamageMonitor(connection: connection) == nil)
        #expect(try CursorTracker(connection: connection) == nil)
        #expect(try ScreenGrabber(connection: connection, source: .screen).grab() == .grabbed)
        #expect(try connection.drainEvents() == [])
    }
}
