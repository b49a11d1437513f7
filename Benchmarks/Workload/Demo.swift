import Glibc

/// A small live desktop for people without a display at hand: a clock, moving shapes, a log that scrolls.
func drawDemo(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let demo = try Demo(screen)
    try screen.show(demo.background)
    for _ in 0..<16 { demo.addLogLine() }
    pace.restart()
    var frame = 0
    repeat {
        demo.drawShapes(frame)
        if frame % 10 == 0 { demo.drawClock() }
        if frame % 12 == 0 { demo.addLogLine() }
        try screen.flush()
        frame += 1
    } while pace.wait()
}

private final class Demo {
    let background: Canvas
    private let screen: Screen
    private let text: LargeText
    private let shapes: Canvas
    private let clock: Canvas
    private let log: Canvas
    private let margin: Int
    private let scale: Int
    private var logText = ProgramText()
    private var shownTime = ""

    private static let ground: UInt32 = 0x161b26
    private static let card: UInt32 = 0x1f2635
    private static let light: UInt32 = 0xe9edf5
    private static let palette: [UInt32] = [0xf28b82, 0xf5c76e, 0x8fd694, 0x8ab4f8, 0xc58af9, 0x78d9ec]

    init(_ screen: Screen) throws(WorkloadError) {
        self.screen = screen
        text = try LargeText(screen)
        let (width, height) = (screen.width, screen.height)
        margin = width / 32
        scale = max(1, width / 640)
        let cardTop = height * 42 / 100
        let cardHeight = height - cardTop - margin
        let half = (width - 3 * margin) / 2
        shapes = screen.makePixmap(width: half, height: cardHeight)
        log = screen.makePixmap(width: half, height: cardHeight)
        clock = screen.makePixmap(
            width: text.width("00:00:00", scale: 3 * scale),
            height: text.height(scale: 3 * scale)
        )
        background = screen.makePixmap(width: width, height: height)
        background.paint(0, 0, width, height) { x, y in
            let glow = max(0, 90 - (x * 160 / width) - (y * 200 / height))
            return rgb(22 + glow / 2, 27 + glow / 3, 38 + glow)
        }
        // Flat behind the clock, which is copied there as a rectangle.
        background.fill(
            clockX - margin / 2,
            margin - margin / 2,
            clock.width + margin,
            clock.height + margin,
            Self.card
        )
        text.draw("Oriel", on: background, margin, margin * 2 / 3, scale: 5 * scale, Self.light)
        let lines = ["This is Oriel's demo: a small live desktop,", "for you to look at from anywhere."]
        for (index, line) in lines.enumerated() {
            let y = margin + text.height(scale: 5 * scale) + index * text.height(scale: scale) * 5 / 4
            text.draw(line, on: background, margin, y, scale: max(1, scale * 2 / 3), 0xb4bdcf)
        }
        log.fill(Self.card)
        shapes.fill(Self.card)
    }

    private var clockX: Int { screen.width - margin * 3 / 2 - clock.width }
    private var cardTop: Int { screen.height - margin - log.height }

    func drawClock() {
        var now = time(nil)
        var parts = tm()
        localtime_r(&now, &parts)
        func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
        let time = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
        if time == shownTime { return }
        shownTime = time
        clock.fill(Self.card)
        text.draw(time, on: clock, 0, 0, scale: 3 * scale, 0xf5c76e)
        screen.window.copy(from: clock, 0, 0, clock.width, clock.height, toX: clockX, toY: margin)
    }

    func drawShapes(_ frame: Int) {
        let (width, height) = (Double(shapes.width), Double(shapes.height))
        shapes.fill(Self.card)
        let time = Double(frame) / 30
        for (index, colour) in Self.palette.enumerated() {
            let phase = time * (0.5 + 0.07 * Double(index)) + Double(index) * 1.05
            let size = Int(height * (0.10 + 0.025 * Double(index % 3)))
            for echo in (0..<6).reversed() {
                let moment = phase - 0.07 * Double(echo)
                let x = Int(width * (0.5 + 0.40 * sin(moment * 1.3))) - size / 2
                let y = Int(height * (0.5 + 0.36 * cos(moment * 1.7 + Double(index)))) - size / 2
                let shrink = size * echo / 12
                shapes.disc(
                    x + shrink / 2,
                    y + shrink / 2,
                    size - shrink,
                    blend(colour, Self.card, Double(echo) * 0.17)
                )
            }
        }
        screen.window.copy(
            from: shapes,
            0,
            0,
            shapes.width,
            shapes.height,
            toX: screen.width - margin - shapes.width,
            toY: cardTop
        )
    }

    func addLogLine() {
        let font = screen.font
        let line = logText.next()
        let padding = 10
        log.copy(
            from: log,
            0,
            font.cellHeight + padding,
            log.width,
            log.height - font.cellHeight - 2 * padding,
            toX: 0,
            toY: padding
        )
        let y = padding + (log.height - 2 * padding) / font.cellHeight * font.cellHeight - font.cellHeight
        log.fill(0, y, log.width, log.height - y, Self.card)
        log.text(
            String(line.prefix((log.width - 2 * padding) / font.cellWidth)),
            padding,
            y,
            ProgramText.colour(of: line, dark: true),
            on: Self.card
        )
        screen.window.copy(from: log, 0, 0, log.width, log.height, toX: margin, toY: cardTop)
    }
}
