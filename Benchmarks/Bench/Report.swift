import Foundation

/// A figure with a goal of the project.
struct Goal {
    let measure: String
    let reach: String
    let measured: String
    /// Nil if it could not be measured.
    let isMet: Bool?
    let command: String

    /// A goal at most; with `atLeast`, at least.
    init(_ measure: String, _ measured: Double?, atMost limit: Double, unit: String, digits: Int = 2, command: String) {
        self.init(measure, measured, "≤ \(limit.text(digits)) \(unit)", unit, digits, command) { $0 <= limit }
    }

    init(_ measure: String, _ measured: Double?, atLeast limit: Double, unit: String, digits: Int = 2, command: String)
    {
        self.init(measure, measured, "≥ \(limit.text(digits)) \(unit)", unit, digits, command) { $0 >= limit }
    }

    private init(
        _ measure: String,
        _ measured: Double?,
        _ reach: String,
        _ unit: String,
        _ digits: Int,
        _ command: String,
        _ isMet: (Double) -> Bool
    ) {
        self.measure = measure
        self.reach = reach
        self.measured = measured.map { "\($0.text(digits)) \(unit)" } ?? "not measured"
        self.isMet = measured.map(isMet)
        self.command = command
    }
}

/// A measurement with its results.
struct Section {
    let title: String
    let table: Table
    var goals: [Goal] = []
    var chart: Chart?
    /// Written to a file of its own.
    var plot: Plot?
    var notes: [String] = []

    func print() {
        Swift.print("\n\(title)\n\n\(table.aligned)")
        for note in notes { Swift.print(note) }
        fflush(nil)
    }

    var markdown: String {
        let picture = plot.map { ["![\($0.title)](\($0.file))"] } ?? []
        return (["## \(title)", table.markdown] + picture + notes).joined(separator: "\n\n")
    }
}

struct Report {
    var sections: [Section] = []

    private var goals: Table {
        var table = Table(["measure", "to reach", "measured", "", "command"], labels: 5)
        for goal in sections.flatMap(\.goals) {
            let verdict = goal.isMet.map { $0 ? "reached" : "missed" } ?? ""
            table.rows.append([goal.measure, goal.reach, goal.measured, verdict, "`\(goal.command)`"])
        }
        return table
    }

    func printGoals() {
        if !goals.rows.isEmpty { print("\nFigures to reach\n\n\(goals.aligned)") }
    }

    func write(to directory: String) throws {
        let head = """
            # Benchmark results

            \(Self.machine). Ratios are of medians within one run; repeats differ by up to 20 %.

            ![The results as a chart](results.svg)
            """
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let text = ([head, goals.markdown] + sections.map(\.markdown)).joined(separator: "\n\n") + "\n"
        try text.write(toFile: directory + "/results.md", atomically: true, encoding: .utf8)
        try svg(of: sections.compactMap(\.chart))
            .write(toFile: directory + "/results.svg", atomically: true, encoding: .utf8)
        for plot in sections.compactMap(\.plot) {
            try svg(of: plot).write(toFile: "\(directory)/\(plot.file)", atomically: true, encoding: .utf8)
        }
    }

    private static var machine: String {
        let info = (try? String(contentsOfFile: "/proc/cpuinfo", encoding: .utf8)) ?? ""
        let model = info.split(separator: "\n").first { $0.hasPrefix("model name") }?.split(separator: ":").last ?? ""
        let count = ProcessInfo.processInfo.activeProcessorCount
        let day = Date().formatted(.iso8601.year().month().day())
        return "Measured on \(day), \(count) cores of\(model)"
    }
}
