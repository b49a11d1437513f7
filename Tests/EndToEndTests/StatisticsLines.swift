import TestSupport

/// The file of `--stats`: a JSON object a second.
struct StatisticsLines {
    let path: String

    init(_ path: String) { self.path = path }

    var count: Int { get throws { try lines.count } }

    /// A whole number in the last line; nil if it is not there.
    func last(_ name: String) throws -> Int? { try lines.last.flatMap { wholeNumber(name, in: $0) } }

    /// Waits until a figure that only grows has grown by no more than `most` in a second.
    func waitForRest(_ name: String, most: Int) throws {
        let first = try count
        try wait(until: "\(name) rests") {
            let figures = try lines.dropFirst(first).suffix(2).map { wholeNumber(name, in: $0) ?? 0 }
            return figures.count == 2 && figures[1] - figures[0] <= most
        }
    }

    private var lines: [String] {
        get throws {
            let text = String(decoding: (try? contents(of: path)) ?? [], as: UTF8.self)
            // The last line may be in the making.
            return text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().map(String.init)
        }
    }
}

/// The number of a key in a text of JSON; nil if it is not there. The last one if there are several.
func wholeNumber(_ key: String, in json: String) -> Int? {
    json.ranges(of: "\"\(key)\":").last.flatMap { Int(json[$0.upperBound...].prefix { $0.isNumber }) }
}
