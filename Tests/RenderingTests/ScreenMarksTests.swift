import Media
import Pixels
import Rendering
import TestSupport
import Testing

@Suite struct ScreenMarksTests {
    private static let screen = PixelSize(width: 1000, height: 800)

    /// In the middle, at each edge, all of the screen, and beyond it.
    @Test func sidesLieOutsideWhereThereIsRoom() {
        var random = SplitMix(seed: 9)
        let whole = PixelRect(Self.screen)
        for _ in 0..<5000 {
            let thickness = Int.random(in: 1...4, using: &random)
            let place = PixelRect(
                x: Int.random(in: -50...1000, using: &random),
                y: Int.random(in: -50...800, using: &random),
                width: Int.random(in: 1...1100, using: &random),
                height: Int.random(in: 1...900, using: &random)
            )
            let sides = markSides(around: place, thickness: thickness, on: Self.screen)
            guard let part = place.intersection(whole) else {
                #expect(sides.isEmpty)
                continue
            }
            #expect(sides.count >= 2 && sides.allSatisfy { whole.contains($0) }, "\(place)")
            for (index, side) in sides.enumerated() where min(part.width, part.height) > 2 * thickness {
                #expect(sides[..<index].allSatisfy { $0.intersection(side) == nil }, "\(place)")
            }
            let hasRoom = (
                part.x >= thickness, part.y >= thickness, part.x + part.width + thickness <= 1000,
                part.y + part.height + thickness <= 800
            )
            if hasRoom == (true, true, true, true) {
                #expect(sides.allSatisfy { $0.intersection(part) == nil }, "\(place)")
            }
            // A side within the part is at its edge.
            for side in sides {
                guard let covered = side.intersection(part) else { continue }
                #expect(min(covered.width, covered.height) <= thickness, "\(place) \(side)")
            }
            #expect(hasRoom.0 == (sides.allSatisfy { $0.x >= part.x - thickness } && sides.contains { $0.x < part.x }))
        }
    }

    @Test func thereIsNoScreen() {
        #expect(throws: PictureWindowError.self) { try ScreenMarks(display: ":4099") }
    }

    @Test func marksAreShownAndRemoved() throws {
        let server = try XServer()
        let marks = try ScreenMarks(display: server.display)
        func count() throws -> Int {
            let found = (try? server.xdotool("search", "--onlyvisible", "--name", "^oriel mark$")) ?? ""
            return found.split(separator: "\n").count
        }
        try marks.showRing(around: PixelRect(x: 10, y: 10, width: 100, height: 100))
        try wait(until: "there is a ring") { try count() == 4 }
        try marks.showFrame(.high, around: PixelRect(x: 0, y: 0, width: 640, height: 480))
        try wait(until: "there is a frame, too") { try count() == 8 }
        marks.hideRing()
        marks.hideFrame()
        try wait(until: "there is nothing") { try count() == 0 }
        try server.crash()
        #expect(throws: PictureWindowError.self) {
            for _ in 0..<100 {
                try marks.showRing(around: PixelRect(x: 10, y: 10, width: 100, height: 100))
                marks.hideRing()
                try marks.handleEvents()
            }
        }
    }
}
