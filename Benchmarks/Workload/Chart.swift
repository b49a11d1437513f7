import Glibc

/// A chart of colours: flat cells, ramps, a square that travels over a plain field, and a coloured strip along each
/// edge of the screen. At each beat one cell changes its colour and the square its place.
///
/// Prints, for each beat, a line for each flat rectangle and each ramp, and then `beat NUMBER`: `flat X Y WIDTH HEIGHT
/// RRGGBB` and `ramp X Y WIDTH HEIGHT RRGGBB RRGGBB`, in pixels, with the colours at the screen's depth. A ramp goes
/// from its left column to its right one. After SIGUSR1 it stands still, prints `still`, and the last beat is what the screen shows.
func drawChart(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    var chart = Chart(width: screen.width, height: screen.height)
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    chart.draw(on: picture)
    try screen.show(picture)
    var signals = sigset_t()
    sigaddset(&signals, SIGUSR1)
    sigprocmask(SIG_BLOCK, &signals, nil)
    pace.restart()
    repeat {
        for (area, colour) in chart.step() {
            screen.window.fill(area.x, area.y, area.width, area.height, colour)
        }
        try screen.synchronize()
        chart.report(in: screen.format)
        sigpending(&signals)
    } while pace.wait() && sigismember(&signals, SIGUSR1) == 0
    printLine("still")
    while pace.wait() {}
}

private struct Chart {
    private static let palette: [UInt32] = [
        0x000000, 0xffffff, 0xff0000, 0x00ff00, 0x0000ff, 0x00ffff, 0xff00ff, 0xffff00, 0x404040, 0x808080, 0xc0c0c0,
        0x1b1f27, 0xfafafa, 0x0078d4, 0xd83b01, 0x107c10, 0x5c2d91, 0xffb900, 0xe81123, 0x3b78ff, 0x16c60c, 0x61d6d6,
        0xb4009e, 0xe0ac69, 0x8d5524, 0xffe4e1, 0x800000, 0x000080, 0x008000,
    ]
    private static let ramps: [(UInt32, UInt32)] = [
        (0x000000, 0xff0000), (0x000000, 0x00ff00), (0x000000, 0x0000ff), (0x000000, 0xffffff), (0xff0000, 0x0000ff),
        (0x00ff00, 0xff00ff),
    ]
    /// Left, right, top and bottom; a macroblock wide.
    private static let edges: [UInt32] = [0x00ff00, 0xff0000, 0xff00ff, 0x0000ff]
    private static let edge = 16
    private static let field: UInt32 = 0x2f6f6f
    private static let square: UInt32 = 0xff3030
    private static let columns = 16
    private static let rows = 9

    private let width: Int
    private let height: Int
    private var beat = 0
    /// Places in the palette.
    private var cells: [Int]

    init(width: Int, height: Int) {
        (self.width, self.height) = (width, height)
        cells = (0..<3 * Self.columns).map { $0 % Self.palette.count }
    }

    /// Changes one cell, and moves the square. Returns the new areas.
    mutating func step() -> [(Desktop.Frame, UInt32)] {
        let before = squareFrame
        beat += 1
        let cell = beat % cells.count
        cells[cell] = (cells[cell] + 1) % Self.palette.count
        return [
            (before, Self.field), (squareFrame, Self.square), (inner(cellFrame(cell)), Self.palette[cells[cell]]),
        ]
    }

    func draw(on canvas: Canvas) {
        canvas.fill(Self.field)
        for (area, colour) in flats + edges { canvas.fill(area.x, area.y, area.width, area.height, colour) }
        for (area, from, to) in ramps {
            canvas.paint(area.x, area.y, area.width, area.height) { x, _ in Self.between(from, to, x, of: area.width) }
        }
        for (area, colour) in edges { canvas.fill(area.x, area.y, area.width, area.height, colour) }
    }

    func report(in format: PixelFormat) {
        func line(_ kind: String, _ area: Desktop.Frame, _ colours: UInt32...) {
            let words = colours.map { String(format.shown($0) | 1 << 24, radix: 16).dropFirst() }.joined(separator: " ")
            printLine("\(kind) \(area.x) \(area.y) \(area.width) \(area.height) \(words)")
        }
        for (area, colour) in flats + edges + [(squareFrame, Self.square)] { line("flat", area, colour) }
        for (area, from, to) in ramps { line("ramp", area, from, to) }
        printLine("beat \(beat)")
    }

    private var flats: [(Desktop.Frame, UInt32)] {
        cells.indices.map { (inner(cellFrame($0)), Self.palette[cells[$0]]) }
    }

    private var ramps: [(Desktop.Frame, UInt32, UInt32)] {
        Self.ramps.enumerated().map { index, colours in
            let (top, bottom) = (row(3) + index * 3 * row(1) / 6, row(3) + (index + 1) * 3 * row(1) / 6)
            let area = Desktop.Frame(x: 0, y: top, width: width, height: bottom - top)
            return (inner(area), colours.0, colours.1)
        }
    }

    private var edges: [(Desktop.Frame, UInt32)] {
        let edge = Self.edge
        let areas = [
            Desktop.Frame(x: 0, y: edge, width: edge, height: height - 2 * edge),
            Desktop.Frame(x: width - edge, y: edge, width: edge, height: height - 2 * edge),
            Desktop.Frame(x: 0, y: 0, width: width, height: edge),
            Desktop.Frame(x: 0, y: height - edge, width: width, height: edge),
        ]
        return Array(zip(areas, Self.edges))
    }

    /// Over the field, from one side to the other and row by row.
    private var squareFrame: Desktop.Frame {
        let side = row(1)
        let (across, down) = (width - 2 * Self.edge - side, 2 * row(1) - Self.edge)
        return Desktop.Frame(
            x: Self.edge + beat * 7 % across,
            y: row(6) + beat * 3 % down,
            width: side,
            height: side
        )
    }

    private func row(_ index: Int) -> Int { index * height / Self.rows }

    private func cellFrame(_ index: Int) -> Desktop.Frame {
        let (column, row) = (index % Self.columns, index / Self.columns)
        let (left, right) = (column * width / Self.columns, (column + 1) * width / Self.columns)
        return Desktop.Frame(x: left, y: self.row(row), width: right - left, height: self.row(row + 1) - self.row(row))
    }

    /// The part of an area that no strip covers.
    private func inner(_ area: Desktop.Frame) -> Desktop.Frame {
        let edge = Self.edge
        let (left, right) = (max(area.x, edge), min(area.x + area.width, width - edge))
        let (top, bottom) = (max(area.y, edge), min(area.y + area.height, height - edge))
        return Desktop.Frame(x: left, y: top, width: right - left, height: bottom - top)
    }

    private static func between(_ from: UInt32, _ to: UInt32, _ x: Int, of width: Int) -> UInt32 {
        func channel(_ shift: UInt32) -> Int {
            let (first, last) = (Int(from >> shift & 255), Int(to >> shift & 255))
            return (2 * (first * (width - 1 - x) + last * x) + width - 1) / (2 * (width - 1))
        }
        return rgb(channel(16), channel(8), channel(0))
    }
}
