import Posix

/// A screen full of text that is another one at every beat, light and dark in turn, as when a person changes windows.
/// Prints `NUMBER NANOSECONDS` for each, the instant of the monotonic clock just before the server was asked to draw it.
func drawPages(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let font = screen.font
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var text = ProgramText()
    var number = 0
    repeat {
        let isDark = !number.isMultiple(of: 2)
        let ground: UInt32 = isDark ? 0x1b1f27 : 0xfafafa
        picture.fill(ground)
        for row in 0..<screen.height / font.cellHeight {
            let line = text.next()
            let colour = ProgramText.colour(of: line, dark: isDark)
            picture.text(line, font.cellWidth, row * font.cellHeight, colour, on: ground)
        }
        try screen.synchronize()
        let asked = MonotonicClock.now()
        screen.window.copy(from: picture, 0, 0, screen.width, screen.height, toX: 0, toY: 0)
        try screen.synchronize()
        printLine("\(number) \(asked)")
        number += 1
    } while pace.wait()
}
