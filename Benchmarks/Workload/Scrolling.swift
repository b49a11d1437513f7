/// A terminal over the whole screen whose text moves up by a line at every beat, as terminals do it: one copy, one line.
func drawScrolling(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let ground: UInt32 = 0x1b1f27
    let font = screen.font
    let window = screen.window!
    let rows = screen.height / font.cellHeight
    let columns = screen.width / font.cellWidth
    var text = ProgramText()
    func drawLine(_ row: Int) {
        let line = text.next()
        let padded = line + String(repeating: " ", count: max(0, columns / 2 - line.count)) + text.next()
        window.text(
            String(padded.prefix(columns)),
            0,
            row * font.cellHeight,
            ProgramText.colour(of: line, dark: true),
            on: ground
        )
    }
    window.fill(ground)
    for row in 0..<rows { drawLine(row) }
    try screen.synchronize()
    pace.restart()
    while pace.wait() {
        window.copy(from: window, 0, font.cellHeight, screen.width, (rows - 1) * font.cellHeight, toX: 0, toY: 0)
        window.fill(0, (rows - 1) * font.cellHeight, screen.width, font.cellHeight, ground)
        drawLine(rows - 1)
        try screen.flush()
    }
}

/// The same as scrolling, in two columns of a scalable font.
func drawTerminal(in font: SmoothFont, on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let ground: UInt32 = 0x1b1f27
    let window = screen.window!
    let height = font.lineHeight
    let rows = screen.height / height
    var text = ProgramText()
    func drawLine(_ row: Int) {
        var strip = SmoothPicture(width: screen.width, height: height, ground: ground)
        for column in 0..<2 {
            let line = text.next()
            let colour = ProgramText.colour(of: line, dark: true)
            font.draw(line, on: &strip, column * screen.width / 2, 0, end: (column + 1) * screen.width / 2, colour)
        }
        window.paint(0, row * height, screen.width, height) { strip[$0, $1] }
    }
    window.fill(ground)
    for row in 0..<rows { drawLine(row) }
    try screen.synchronize()
    pace.restart()
    while pace.wait() {
        window.copy(from: window, 0, height, screen.width, (rows - 1) * height, toX: 0, toY: 0)
        drawLine(rows - 1)
        try screen.flush()
    }
}
