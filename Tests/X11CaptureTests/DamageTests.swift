import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct DamageTests {
    private let screen = PixelRect(x: 0, y: 0, width: 640, height: 480)

    private func none(_ region: PixelRect) -> BlockSet { BlockSet(region.size, side: BlockSet.tile) }

    private func take(_ damage: DamageMonitor, _ region: PixelRect) throws -> BlockSet {
        var tiles = none(region)
        try damage.take(addingTo: &tiles, of: region)
        return tiles
    }

    @Test func tellsOnceOfDrawingUntilItIsTaken() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let connection = try XConnection(display: server.display)
        let damage = try #require(try DamageMonitor(connection: connection))
        func events() throws -> XEvents {
            try connection.synchronize()
            return try connection.drainEvents()
        }
        #expect(try events() == .damaged)
        #expect(try take(damage, screen).isFull)
        #expect(try events() == [])

        let spot = PixelRect(x: 3, y: 4, width: 1, height: 1)
        try painter.fill(spot, 1)
        #expect(try events() == .damaged)
        try painter.fill(spot, 2)
        #expect(try events() == [])

        _ = try take(damage, screen)
        try painter.fill(spot, 3)
        #expect(try events() == .damaged)
    }

    @Test func tellsWhere() throws {
        let server = try XServer()
        let painter = try Painter(server)
        let connection = try XConnection(display: server.display)
        let damage = try #require(try DamageMonitor(connection: connection))
        _ = try take(damage, screen)
        #expect(try take(damage, screen).isEmpty)

        try painter.fill(PixelRect(x: 3, y: 4, width: 1, height: 1), 1)
        try painter.fill(PixelRect(x: 300, y: 190, width: 21, height: 3), 1)
        var wanted = none(screen)
        wanted.insert(column: 0, row: 0)
        wanted.insert(columns: 4..<6, rows: 2..<4)
        #expect(try take(damage, screen) == wanted)

        // Of a part of the screen, in that part's tiles.
        let part = PixelRect(x: 310, y: 100, width: 200, height: 200)
        try painter.fill(PixelRect(x: 300, y: 190, width: 21, height: 3), 2)
        wanted = none(part)
        wanted.insert(column: 0, row: 1)
        #expect(try take(damage, part) == wanted)
    }
}
