import Posix
import Time

/// A screen full of text that is replaced at every beat, light and dark in turn, as when a person changes windows.
/// Prints `NUMBER NANOSECONDS` for each, the instant of the monotonic clock just before the request.
func drawPages(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var text = ProgramText()
    var number = 0
    repeat {
        turnPage(number, of: &text, on: picture)
        try show(picture, number, on: screen)
        number += 1
    } while pace.wait()
}

/// A number strip on a page of text that is replaced at every fourteenth beat: a change is small, and comes while the
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

/// The same as pages, in two columns of a scalable font.
func drawSmoothPages(in font: SmoothFont, on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var text = ProgramText()
    var number = 0
    repeat {
        let page = smoothPage(number, of: &text, in: font, width: screen.width, height: screen.height)
        picture.paint(0, 0, page.width, page.height) { page[$0, $1] }
        try show(picture, number, on: screen)
        number += 1
    } while pace.wait()
}

private func show(_ page: Canvas, _ number: Int, on screen: Screen) throws(WorkloadError) {
    try screen.synchronize()
    let asked: Instant = MonotonicClock.now()
    screen.window.copy(from: page, 0, 0, screen.width, screen.height, toX: 0, toY: 0)
    try screen.synchronize()
    printLine("\(number) \(asked.nanoseconds)")
}

/// A page in two columns, dark or light by its number.
func smoothPage(
    _ number: Int,
    of text: inout ProgramText,
    in font: SmoothFont,
    width: Int,
    height: Int
) -> SmoothPicture {
    let isDark = !number.isMultiple(of: 2)
    var page = SmoothPicture(width: width, height: height, ground: isDark ? 0x1b1f27 : 0xfafafa)
    let margin = 12
    for column in 0..<2 {
        let (start, end) = (column * width / 2 + margin, (column + 1) * width / 2 - margin)
        for row in 0..<height / font.lineHeight {
            let line = text.next()
            let colour = ProgramText.colour(of: line, dark: isDark)
            font.draw(line, on: &page, start, row * font.lineHeight, end: end, colour)
        }
    }
    return page
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
