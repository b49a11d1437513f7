import Pixels
import Testing

struct PixelRectTests {
    @Test func intersects() {
        let rect = PixelRect(x: -5, y: 3, width: 20, height: 10)
        #expect(
            rect.intersection(PixelRect(x: 0, y: 0, width: 100, height: 5))
                == PixelRect(x: 0, y: 3, width: 15, height: 2)
        )
        #expect(rect.intersection(PixelRect(x: 15, y: 3, width: 1, height: 1)) == nil)
        #expect(rect.intersection(PixelRect(x: 0, y: 4, width: 0, height: 1)) == nil)
    }

    @Test func intersectsAtTheEndsOfTheRange() {
        let far = PixelRect(x: .max - 1, y: 0, width: .max, height: 1)
        #expect(
            far.intersection(PixelRect(x: 0, y: 0, width: .max, height: 1))
                == PixelRect(x: .max - 1, y: 0, width: 1, height: 1)
        )
        let near = PixelRect(x: .min, y: .min, width: .max, height: .max)
        #expect(near.intersection(PixelRect(x: 0, y: 0, width: 1, height: 1)) == nil)
        #expect(near.intersection(near) == near)
    }

    @Test func contains() {
        let rect = PixelRect(x: 2, y: 2, width: 4, height: 4)
        #expect(rect.contains(rect))
        #expect(rect.contains(PixelRect(x: 5, y: 5, width: 1, height: 1)))
        #expect(rect.contains(PixelRect(x: 90, y: 0, width: 0, height: 9)))
        #expect(!rect.contains(PixelRect(x: 5, y: 5, width: 2, height: 1)))
    }

    @Test func expandsToEvenEdges() {
        #expect(
            PixelRect(x: 3, y: -3, width: 1, height: 2).expandedToEven == PixelRect(x: 2, y: -4, width: 2, height: 4)
        )
        #expect(PixelRect(x: 2, y: 4, width: 6, height: 8).expandedToEven == PixelRect(x: 2, y: 4, width: 6, height: 8))
        #expect(PixelRect(x: 3, y: 3, width: 2, height: 3).expandedToEven == PixelRect(x: 2, y: 2, width: 4, height: 4))
    }

    @Test(arguments: [
        (1920, 1080, 1280, 720, "1280x720+0+0"),
        (1280, 720, 1280, 720, "1280x720+0+0"),
        (3840, 2160, 1280, 720, "1280x720+0+0"),
        (1280, 800, 1280, 720, "1152x720+64+0"),  // 16:10
        (1920, 1200, 1280, 720, "1152x720+64+0"),
        (1024, 768, 1280, 720, "960x720+160+0"),  // 4:3
        (1080, 1920, 1280, 720, "406x720+436+0"),  // portrait: 405 wide
        (1000, 1000, 1280, 720, "720x720+280+0"),
        (2560, 1080, 1280, 720, "1280x540+0+90"),  // 21:9
        (1366, 768, 1280, 720, "1280x720+0+0"),  // 719.6
        (1367, 769, 1280, 720, "1280x720+0+0"),
        (1021, 769, 1280, 720, "956x720+162+0"),  // primes
        (2, 2, 1280, 720, "720x720+280+0"),
        (640, 360, 1280, 720, "1280x720+0+0"),
        (30000, 2, 1280, 720, "1280x2+0+358"),
        (2, 30000, 1280, 720, "2x720+638+0"),
        (5, 7, 2, 2, "2x2+0+0"),
        (3840, 1080, 1280, 720, "1280x360+0+180"),  // two monitors
    ])
    func letterboxes(width: Int, height: Int, frameWidth: Int, frameHeight: Int, expected: String) {
        let frame = PixelSize(width: frameWidth, height: frameHeight)
        let rect = PixelRect.letterbox(PixelSize(width: width, height: height), in: frame)
        #expect(rect.description == expected)
        #expect(PixelRect(frame).contains(rect))
        #expect(rect.expandedToEven == rect)
    }
}
