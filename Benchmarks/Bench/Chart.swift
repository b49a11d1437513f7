/// Bars of one unit, in named groups; shorter is better.
struct Chart {
    struct Bar {
        let label: String
        let value: Double
        let isOurs: Bool
    }

    let title: String
    let unit: String
    var groups: [(name: String, bars: [Bar])] = []
}

private enum Geometry {
    static let width = 760
    static let labels = 190
    static let bar = 16
    static let step = 21
    static let groupGap = 14
    static let titleHeight = 40
    static let figures = 90
}

/// The charts below each other; text follows the reader's light or dark theme.
func svg(of charts: [Chart]) -> String {
    var body: [String] = []
    var y = 10
    for chart in charts {
        y += Geometry.titleHeight
        body.append(text(chart.title + ", " + chart.unit, x: 10, y: y - 14, "title"))
        let longest = chart.groups.flatMap(\.bars).map(\.value).max() ?? 1
        let scale = Double(Geometry.width - Geometry.labels - Geometry.figures) / max(longest, .leastNonzeroMagnitude)
        for group in chart.groups {
            body.append(text(group.name, x: 10, y: y + 13, "group"))
            for bar in group.bars {
                let length = max(1, bar.value * scale).text(1)
                let middle = y + 13
                body.append(text(bar.label, x: Geometry.labels - 8, y: middle, "label"))
                body.append(
                    "<rect x=\"\(Geometry.labels)\" y=\"\(y)\" width=\"\(length)\" height=\"\(Geometry.bar)\" rx=\"2\""
                        + " class=\"\(bar.isOurs ? "ours" : "other")\"/>"
                )
                let end = Geometry.labels + Int(bar.value * scale) + 7
                body.append(text(bar.value.text(1), x: end, y: middle, "figure"))
                y += Geometry.step
            }
            y += Geometry.groupGap
        }
    }
    return """
        <svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 \(Geometry.width) \(y)" role="img" \
        aria-label="Benchmark results">
        <style>
        text { font: 13px system-ui, sans-serif; fill: #24292f }
        .title { font-size: 15px; font-weight: 600 }
        .label { text-anchor: end }
        .figure { font-variant-numeric: tabular-nums }
        .ours { fill: #1f77b4 }
        .other { fill: #9aa4b0 }
        @media (prefers-color-scheme: dark) {
        text { fill: #e6edf3 }
        .ours { fill: #58a6ff }
        .other { fill: #6e7681 }
        }
        </style>
        \(body.joined(separator: "\n"))
        </svg>

        """
}

private func text(_ content: String, x: Int, y: Int, _ style: String) -> String {
    let escaped = content.map { character in
        switch character {
        case "&": "&amp;"
        case "<": "&lt;"
        default: String(character)
        }
    }.joined()
    return "<text x=\"\(x)\" y=\"\(y)\" class=\"\(style)\">\(escaped)</text>"
}
