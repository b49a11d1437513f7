import Posix
import Time

/// A screen full of text that is another one at every beat, light and dark in turn, as when a person changes windows.
/// Prints `NUMBER NANOSECONDS` for each, the instant of the monotonic clock just before the server was asked to draw it.
func drawPages(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var text = ProgramText()
    var number = 0
    repeat {
        turnPage(number, of: &text, on: picture)
        try screen.synchronize()
        let asked: Instant = MonotonicClock.now()
        screen.window.copy(from: picture, 0, 0, screen.width, screen.height, toX: 0, toY: 0)
        try screen.synchronize()
        printLine("\(number) \(asked.nanoseconds)")
        number += 1
    } while pace.wait()
}

/// A number strip on a page of text that is another one at every fourteenth beat: what is new is small, and comes while the
/// page still gets sharper. Prints `NUMBER NANOSECONDS` as the counter does.
func drawNews(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let strip = NumberStrip(screenWidth: screen.width)
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var text = ProgramText()
    var number: UInt32 = 0
    repeat {
        strip.draw(number, on: picture, x: 0, y: 0)
        if number.isMultiple(of: 14) {
            turnPage(Int(number) / 14, of: &text, on: picture)
            screen.window.copy(from: picture, 0, 0, screen.width, screen.height, toX: 0, toY: 0)
            try screen.synchronize()
        } else {
            let asked: Instant = MonotonicClock.now()
            screen.window.copy(from: picture, 0, 0, strip.width, strip.height, toX: 0, toY: 0)
            try screen.synchronize()
            printLine("\(number) \(asked.nanoseconds)")
        }
        number &+= 1
    } while pace.wait()
}

private func turnPage(_ number: Int, of text: inout ProgramText, on picture: Canvas) {
    let font = picture.screen.font
    let isDark = !number.isMultiple(of: 2)
    let ground: UInt32 = isDark ? 0x1b1f27 : 0xfafafa
    picture.fill(ground)
    for row in 0..<picture.height / font.cellHeight {
        let line = text.next()
        let colour = ProgramText.colour(of: line, dark: isDark)
        picture.text(line, font.cellWidth, row * font.cellHeight, colour, on: ground)
    }
}
