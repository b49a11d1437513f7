import Posix
import Time

/// A number that a program can read off a picture, even after it was scaled to 1280 pixels of width and compressed.
///
/// Two rows of 32 square cells. The upper row holds the bits of the number, highest first, white for 1 and black for 0;
/// the lower row holds their complement, so that a reader can tell a number from anything else.
/// A cell is 16 pixels wide on a screen of 1280 pixels, and grows with the screen.
struct NumberStrip {
    static let bits = 32
    let cell: Int

    init(screenWidth: Int) { cell = max(1, screenWidth * 16 / 1280) }

    var width: Int { Self.bits * cell }
    var height: Int { 2 * cell }

    func draw(_ number: UInt32, on canvas: Canvas, x: Int, y: Int) {
        for bit in 0..<Self.bits {
            let isSet = number >> UInt32(Self.bits - 1 - bit) & 1 == 1
            canvas.fill(x + bit * cell, y, cell, cell, isSet ? 0xffffff : 0)
            canvas.fill(x + bit * cell, y + cell, cell, cell, isSet ? 0 : 0xffffff)
        }
    }
}

/// A number strip in the top left corner of a desktop, and a line of text that changes with it. Prints `NUMBER
/// NANOSECONDS` for each number, once the server has drawn it: the instant of the monotonic clock just before the
/// request.
func drawCounter(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    try screen.show(Desktop(on: screen).picture)
    let strip = NumberStrip(screenWidth: screen.width)
    let picture = screen.makePixmap(width: strip.width, height: strip.height)
    let textY = screen.height - screen.font.cellHeight - 8
    var number: UInt32 = 0
    pace.restart()
    repeat {
        strip.draw(number, on: picture, x: 0, y: 0)
        screen.window.text("counter \(number) ", 16, textY, 0xffffff, on: 0x20242c)
        let asked: Instant = MonotonicClock.now()
        // One copy, which the server makes in one go: nobody grabs half a number.
        screen.window.copy(from: picture, 0, 0, strip.width, strip.height, toX: 0, toY: 0)
        try screen.synchronize()
        printLine("\(number) \(asked.nanoseconds)")
        number &+= 1
    } while pace.wait()
}

/// Fills the screen with bands of two cells' height, each of them two number strips with the frame's number, at the
/// left edge and 40 cells from it, and a colour. A picture whose bands differ is torn.
func drawPattern(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let colours: [UInt32] = [0xc0392b, 0xd68910, 0x229954, 0x2471a3, 0x7d3c98, 0x707b7c]
    let strip = NumberStrip(screenWidth: screen.width)
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var number: UInt32 = 0
    repeat {
        picture.fill(colours[Int(number) % colours.count])
        strip.draw(number, on: picture, x: 0, y: 0)
        strip.draw(number, on: picture, x: 40 * strip.cell, y: 0)
        for y in stride(from: strip.height, to: screen.height, by: strip.height) {
            picture.copy(from: picture, 0, 0, screen.width, min(strip.height, screen.height - y), toX: 0, toY: y)
        }
        screen.window.copy(from: picture, 0, 0, screen.width, screen.height, toX: 0, toY: 0)
        try screen.synchronize()
        printLine("\(number) \(MonotonicClock.now().nanoseconds)")
        number &+= 1
    } while pace.wait()
}
