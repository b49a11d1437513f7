/// A still desktop: a panel, an editor, a terminal and a photograph on a wallpaper.
struct Desktop {
    let picture: Canvas
    /// The text area of the editor.
    let editor: Frame

    struct Frame {
        let x: Int
        let y: Int
        let width: Int
        let height: Int
    }

    static let paper: UInt32 = 0xfdfdfb

    init(on screen: Screen, editorLines: Int = .max) {
        let picture = screen.makePixmap(width: screen.width, height: screen.height)
        let (width, height) = (screen.width, screen.height)
        picture.paint(0, 0, width, height) { x, y in wallpaper(x * 256 / width, y * 256 / height) }
        Self.drawPanel(picture)
        let left = width / 40
        let top = height / 15
        editor = Self.drawWindow(
            picture,
            Frame(x: left, y: top, width: width * 52 / 100, height: height * 78 / 100),
            title: "Encoder.swift - Editor",
            ground: Self.paper
        )
        Self.drawText(picture, editor, lines: editorLines, dark: false, ground: Self.paper)
        let terminal = Self.drawWindow(
            picture,
            Frame(x: width * 58 / 100, y: top, width: width * 39 / 100, height: height * 40 / 100),
            title: "ada@bay: ~/oriel",
            ground: 0x1b1f27
        )
        Self.drawText(picture, terminal, lines: .max, dark: true, ground: 0x1b1f27)
        let photograph = Self.drawWindow(
            picture,
            Frame(x: width * 58 / 100, y: height * 51 / 100, width: width * 39 / 100, height: height * 42 / 100),
            title: "Lakes.png - Pictures",
            ground: 0x000000
        )
        picture.paint(photograph.x - 8, photograph.y - 6, photograph.width + 16, photograph.height + 12) { x, y in
            landscape(Double(x) / Double(photograph.width), Double(y) / Double(photograph.height))
        }
        self.picture = picture
    }

    private static func drawPanel(_ picture: Canvas) {
        let font = picture.screen.font
        let height = font.cellHeight + 12
        picture.fill(0, 0, picture.width, height, 0x20242c)
        picture.text("Files   Editor   Terminal   Pictures", 16, 6, 0xe6e9ef, on: 0x20242c)
        let clock = "Sat 14 March  09:26"
        picture.text(clock, (picture.width - clock.count * font.cellWidth) / 2, 6, 0xe6e9ef, on: 0x20242c)
        for (index, colour) in [UInt32(0x8fd694), 0xf5c76e, 0x8ab4f8].enumerated() {
            picture.disc(picture.width - 30 - index * 28, height / 2 - 6, 12, colour)
        }
    }

    /// Draws the frame of a window and returns where its text goes.
    private static func drawWindow(_ picture: Canvas, _ frame: Frame, title: String, ground: UInt32) -> Frame {
        let font = picture.screen.font
        let bar = font.cellHeight + 12
        picture.fill(frame.x - 1, frame.y - 1, frame.width + 2, frame.height + 2, 0x14171c)
        picture.fill(frame.x, frame.y, frame.width, bar, 0x343a46)
        picture.text(title, frame.x + 16, frame.y + 6, 0xe6e9ef, on: 0x343a46)
        for (index, colour) in [UInt32(0xf28b82), 0xf5c76e, 0x8fd694].enumerated() {
            picture.disc(frame.x + frame.width - 24 - index * 22, frame.y + bar / 2 - 6, 12, colour)
        }
        picture.fill(frame.x, frame.y + bar, frame.width, frame.height - bar, ground)
        return Frame(x: frame.x + 8, y: frame.y + bar + 6, width: frame.width - 16, height: frame.height - bar - 12)
    }

    private static func drawText(_ picture: Canvas, _ area: Frame, lines: Int, dark: Bool, ground: UInt32) {
        let font = picture.screen.font
        var text = ProgramText()
        for row in 0..<min(lines, area.height / font.cellHeight) {
            let line = text.next()
            picture.text(
                String(line.prefix(area.width / font.cellWidth)),
                area.x,
                area.y + row * font.cellHeight,
                ProgramText.colour(of: line, dark: dark),
                on: ground
            )
        }
    }
}

func drawStill(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    try screen.show(Desktop(on: screen).picture)
    while pace.wait() { try screen.flush() }
}

func drawTyping(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let desktop = Desktop(on: screen, editorLines: 3)
    try screen.show(desktop.picture)
    let font = screen.font
    let area = desktop.editor
    let firstRow = 4
    let rows = area.height / font.cellHeight
    let columns = area.width / font.cellWidth
    var text = ProgramText()
    var line = Array(text.next())
    var row = firstRow
    var column = 0
    pace.restart()
    while pace.wait() {
        let x = area.x + column * font.cellWidth
        let y = area.y + row * font.cellHeight
        screen.window.fill(x, y, font.cellWidth, font.cellHeight, Desktop.paper)
        if column < min(line.count, columns - 1) {
            screen.window.text(String(line[column]), x, y, 0x22262e, on: Desktop.paper)
            column += 1
        } else {
            line = Array(text.next())
            column = 0
            row += 1
            if row == rows {
                row = firstRow
                let top = area.y + row * font.cellHeight
                screen.window.fill(area.x, top, area.width, area.y + area.height - top, Desktop.paper)
            }
        }
        screen.window.fill(
            area.x + column * font.cellWidth,
            area.y + row * font.cellHeight,
            2,
            font.cellHeight,
            0x1a4fa0
        )
        try screen.flush()
    }
}
