/// Points of one quantity over another, joined by a line; both axes begin at zero.
struct Plot {
    /// Its file, beside the results.
    let file: String
    let title: String
    let x: String
    let y: String
    let points: [(x: Double, y: Double)]
}

private enum Geometry {
    static let width = 760, height = 420
    static let left = 60, right = 20, top = 50, bottom = 50
}

/// The plot; text follows the reader's light or dark theme.
func svg(of plot: Plot) -> String {
    let largest = (
        x: niceLimit(plot.points.map(\.x).max() ?? 1),
        y: niceLimit(plot.points.map(\.y).max() ?? 1)
    )
    let inner = (
        width: Geometry.width - Geometry.left - Geometry.right,
        height: Geometry.height - Geometry.top - Geometry.bottom
    )
    func place(_ point: (x: Double, y: Double)) -> String {
        let x = Double(Geometry.left) + point.x / largest.x * Double(inner.width)
        let y = Double(Geometry.height - Geometry.bottom) - point.y / largest.y * Double(inner.height)
        return "\(x.text(1)),\(y.text(1))"
    }
    var body = ["<text x=\"10\" y=\"24\" class=\"title\">\(plot.title), \(plot.y)</text>"]
    for step in 0...5 {
        let share = Double(step) / 5
        let x = Geometry.left + Int(share * Double(inner.width))
        let y = Geometry.height - Geometry.bottom - Int(share * Double(inner.height))
        body.append("<path class=\"grid\" d=\"M\(Geometry.left) \(y)h\(inner.width)\"/>")
        body.append(
            "<text x=\"\(Geometry.left - 8)\" y=\"\(y + 4)\" class=\"label\">\((share * largest.y).text(1))</text>"
        )
        let below = Geometry.height - Geometry.bottom + 20
        body.append("<text x=\"\(x)\" y=\"\(below)\" class=\"below\">\((share * largest.x).text(0))</text>")
    }
    body.append(
        "<text x=\"\(Geometry.left + inner.width / 2)\" y=\"\(Geometry.height - 8)\" class=\"below\">\(plot.x)</text>"
    )
    body.append("<polyline class=\"line\" points=\"\(plot.points.map(place).joined(separator: " "))\"/>")
    for point in plot.points {
        let place = place(point).split(separator: ",")
        body.append("<circle class=\"point\" cx=\"\(place[0])\" cy=\"\(place[1])\" r=\"3\"/>")
    }
    return """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Geometry.width) \(Geometry.height)" role="img" \
        aria-label="\(plot.title)">
        <style>
        text { font: 13px system-ui, sans-serif; fill: #24292f }
        .title { font-size: 15px; font-weight: 600 }
        .label { text-anchor: end }
        .below { text-anchor: middle }
        .grid { stroke: #9aa4b0; stroke-width: 0.5 }
        .line { fill: none; stroke: #1f77b4; stroke-width: 2 }
        .point { fill: #1f77b4 }
        @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 }
        .line { stroke: #58a6ff }
        .point { fill: #58a6ff }
        }
        </style>
        \(body.joined(separator: "\n"))
        </svg>

        """
}

/// The smallest 1, 2 or 5 times a power of ten that is no smaller.
private func niceLimit(_ value: Double) -> Double {
    var unit = 1.0
    while unit < value { unit *= 10 }
    while unit / 10 >= value { unit /= 10 }
    return [unit / 5, unit / 2, unit].first { $0 >= value } ?? unit
}
