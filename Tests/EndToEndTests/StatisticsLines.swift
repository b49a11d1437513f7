/// The file of `--stats`: a JSON object a second.
struct StatisticsLines {
    let path: String

    init(_ path: String) { self.path = path }

    var count: Int { get throws { try contents(of: path).count { $0 == 0x0A } } }

    /// A whole number in the last line; nil if it is not there.
    func last(_ name: String) throws -> Int? {
        let line = String(decoding: try contents(of: path), as: UTF8.self).split(separator: "\n").last ?? ""
        let field = line.split { "{},".contains($0) }.first { $0.hasPrefix("\"\(name)\":") }
        return field?.split(separator: ":").last.flatMap { Int($0) }
    }
}
