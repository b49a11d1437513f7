import Pixels
import TestSupport
import Testing

@testable import X11Capture

@Suite struct PickGestureTests {
    private static let screen = PixelRect(x: 0, y: 0, width: 640, height: 480)

    private func outcome(_ inputs: [PickGesture.Input], takesRegionsOnly: Bool = false) -> [PickGesture.Output] {
        var gesture = PickGesture(on: Self.screen, takesRegionsOnly: takesRegionsOnly)
        return inputs.map { gesture.take($0) }
    }

    @Test func aClickChoosesTheWindow() {
        #expect(
            outcome([.moved(x: 5, y: 5), .pressed(x: 10, y: 10), .moved(x: 12, y: 17), .released(x: 12, y: 17)])
                == [.hovers, .hovers, .hovers, .picked(.window)]
        )
        // One that began before this did is none.
        #expect(outcome([.released(x: 10, y: 10)]) == [.hovers])
    }

    /// In each direction, and back to where it began.
    @Test(arguments: [(300, 200), (50, 60), (300, 60), (50, 200)]) func aDragChoosesARegion(x: Int, y: Int) {
        let part = PixelRect(columns: min(x, 100)..<max(x, 100) + 1, rows: min(y, 100)..<max(y, 100) + 1)
        #expect(
            outcome([.pressed(x: 100, y: 100), .moved(x: x, y: y), .released(x: x, y: y)])
                == [.hovers, .drags(part), .picked(.region(part))]
        )
        let point = PixelRect(x: 100, y: 100, width: 1, height: 1)
        #expect(
            outcome([.pressed(x: 100, y: 100), .moved(x: x, y: y), .released(x: 100, y: 100)]).last
                == .picked(.region(point))
        )
    }

    @Test func aRegionIsWithinTheScreen() {
        let part = PixelRect(columns: 600..<640, rows: 400..<480)
        #expect(
            outcome([.pressed(x: 600, y: 400), .moved(x: 900, y: 900), .released(x: 900, y: 900)]).last
                == .picked(.region(part))
        )
    }

    @Test func keysChooseOthers() {
        #expect(outcome([.key(.monitor)]) == [.picked(.monitor)] && outcome([.key(.screen)]) == [.picked(.screen)])
        #expect(outcome([.key(.other), .key(.escape)]) == [.hovers, .cancelled])
        #expect(outcome([.pressed(x: 1, y: 1), .moved(x: 50, y: 50), .key(.escape)]).last == .cancelled)
    }

    /// A part of what is shared is no window.
    @Test func onlyRegionsCanBeTaken() {
        let inputs: [PickGesture.Input] = [
            .key(.monitor), .key(.screen), .pressed(x: 1, y: 1), .released(x: 1, y: 1), .pressed(x: 1, y: 1),
            .released(x: 50, y: 40),
        ]
        #expect(
            outcome(inputs, takesRegionsOnly: true)
                == [
                    .hovers, .hovers, .hovers, .hovers, .hovers,
                    .picked(.region(PixelRect(x: 1, y: 1, width: 50, height: 40))),
                ]
        )
    }
}
