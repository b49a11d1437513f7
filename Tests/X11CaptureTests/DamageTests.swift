import TestSupport
import Testing

@testable import X11Capture

@Suite struct DamageTests {
    @Test func tellsOnceOfDrawingUntilAcknowledged() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let connection = try XConnection(display: server.display)
        let damage = try #require(try DamageMonitor(connection: connection))
        func events() throws -> XEvents {
            try connection.synchronize()
            return try connection.drainEvents()
        }
        /// The painter's requests come over another connection, and could overtake.
        func acknowledge() throws {
            damage.acknowledge()
            try connection.synchronize()
        }
        #expect(try events() == .damaged)
        try acknowledge()
        #expect(try events() == [])

        let spot = CaptureRegion(x: 3, y: 4, width: 1, height: 1)
        try painter.fill(spot, 1)
        #expect(try events() == .damaged)
        try painter.fill(spot, 2)
        #expect(try events() == [])

        try acknowledge()
        try painter.fill(spot, 3)
        #expect(try events() == .damaged)
    }
}
