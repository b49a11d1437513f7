import TestSupport

/// The file of `--stats`: a JSON object a second.
struct StatisticsLines {
    let path: String

    init(_ path: String) { self.path = path }

    var count: Int { get throws { try lines.count } }

    /// A whole number in the last line; nil if it is not there.
    func last(_ name: String) throws -> Int? { try lines.last.flatMap { wholeNumber(name, in: $0) } }

    /// Waits until a figure that only grows has grown by no more than `most` a second, by the lines' own time.
    func waitForRest(_ name: String, most: Int) throws {
        let first = try count
        try wait(until: "\(name) rests") {
            let last = try lines.dropFirst(first).suffix(2)
            let figures = last.compactMap { wholeNumber(name, in: $0) }
            let times = last.compactMap { decimal("time_s", in: $0) }
            guard figures.count == 2, times.count == 2 else { return false }
            // A second takes some milliseconds more.
            return Double(figures[1] - figures[0]) < Double(most) * (times[1] - times[0]) + 1
        }
    }

    var text: String { String(decoding: (try? contents(of: path)) ?? [], as: UTF8.self) }

    private var lines: [String] {
        get throws {
            // The last line may be in the making.
            return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        }
    }
}

private func decimal(_ key: String, in json: String) -> Double? {
    json.ranges(of: "\"\(key)\":").last.flatMap { Double(json[$0.upperBound...].prefix { $0.isNumber || $0 == "." }) }
}

/// The number of a key in a text of JSON; nil if it is not there. The last one if there are several.
func wholeNumber(_ key: String, in json: String) -> Int? {
    json.ranges(of: "\"\(key)\":").last.flatMap { Int(json[$0.upperBound...].prefix { $0.isNumber }) }
}
