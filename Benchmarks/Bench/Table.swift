/// Columns of text: the first ones are labels, flushed left, the others figures, flushed right.
struct Table {
    let header: [String]
    private let labels: Int
    var rows: [[String]] = []

    init(_ header: [String], labels: Int = 1) {
        self.header = header
        self.labels = labels
    }

    var aligned: String {
        let widths = header.indices.map { column in ([header] + rows).map { $0[column].count }.max() ?? 0 }
        func line(_ cells: [String]) -> String {
            zip(cells, widths).enumerated().map { column, cell in
                let padding = String(repeating: " ", count: cell.1 - cell.0.count)
                return column < labels ? cell.0 + padding : padding + cell.0
            }.joined(separator: "   ")
        }
        let rule = widths.map { String(repeating: "-", count: $0) }.joined(separator: "   ")
        return ([line(header), rule] + rows.map(line)).joined(separator: "\n")
    }

    var markdown: String {
        func line(_ cells: [String]) -> String { "| " + cells.joined(separator: " | ") + " |" }
        let rule = header.indices.map { $0 < labels ? "|---" : "|---:" }.joined() + "|"
        return ([line(header), rule] + rows.map(line)).joined(separator: "\n")
    }
}
