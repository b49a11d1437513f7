/// The commands of a page, section by section, with what they print.
///
/// Read are blocks of `sh` (commands) and `console` (commands behind `$`, with what they print), and `log` (what a running command prints
/// meanwhile). `<!-- test: … -->` tells what others do at that place.
struct PageScript {
    enum Step: Equatable {
        /// A command, and lines that it prints, in any order.
        case run(String, at: PageNetwork.Host, printing: [String])
        /// A line that a running command prints.
        case expect(String)
        /// What somebody else does.
        case scene(String)
    }

    /// Begins with nothing running. What runs at its end is ended by Ctrl-C.
    struct Section: Equatable {
        let title: String
        var steps: [Step] = []
    }

    private(set) var sections: [Section] = []

    init(_ page: String) throws {
        var section = Section(title: "")
        var block: (info: [Substring], lines: [String])?
        for line in page.split(separator: "\n", omittingEmptySubsequences: false) {
            if line.hasPrefix("```") {
                if let block { section.steps += try Self.steps(block.info, block.lines) }
                block = block == nil ? (line.dropFirst(3).split(separator: " "), []) : nil
            } else if block != nil {
                block?.lines.append(String(line))
            } else if line.hasPrefix("## ") {
                sections.append(section)
                section = Section(title: String(line.dropFirst(3)))
            } else if line.hasPrefix(Self.sceneStart) {
                let scenes = line.dropFirst(Self.sceneStart.count).dropLast(" -->".count).split(separator: ";")
                section.steps += scenes.map { .scene(Self.trimmed($0)) }
            }
        }
        sections = (sections + [section]).filter { !$0.steps.isEmpty }
    }

    private static let sceneStart = "<!-- test: "

    private static func steps(_ info: [Substring], _ lines: [String]) throws -> [Step] {
        var host = PageNetwork.Host.sharer
        if let named = info.first(where: { $0.hasPrefix("host=") })?.dropFirst("host=".count) {
            guard let known = PageNetwork.Host(rawValue: String(named)) else { throw Unexpected("no host \(named)") }
            host = known
        }
        switch info.first {
        case "sh":
            return lines.filter { isPlayed($0) }.map { .run($0, at: host, printing: []) }
        case "console":
            var commands: [(line: String, output: [String])] = []
            for line in lines {
                if line.hasPrefix("$ ") {
                    commands.append((String(line.dropFirst(2)), []))
                } else if !commands.isEmpty, !trimmed(line[...]).isEmpty, line != "…" {
                    commands[commands.count - 1].output.append(line)
                }
            }
            return commands.map { .run($0.line, at: host, printing: $0.output) }
        case "log": return lines.map { .expect($0) }
        default: return []
        }
    }

    /// Tools build, which takes minutes: `OrdinaryUserTests` has some.
    private static func isPlayed(_ line: String) -> Bool {
        !line.isEmpty && !["tools/", "swift "].contains { line.hasPrefix($0) } || line.hasPrefix("tools/readers/")
    }

    private static func trimmed(_ text: Substring) -> String { text.split(separator: " ").joined(separator: " ") }

    // MARK: - Output

    /// Whether a printed line is the one that a page shows. Numbers, with units, are alike, as is `-` in the place of one. "…" is anything.
    static func matches(_ line: some StringProtocol, _ shown: String) -> Bool {
        let pattern = normalized(shown).replacing(#/ *… */#, with: "…")
        let parts = pattern.split(separator: "…", omittingEmptySubsequences: false)
        var rest = Substring(normalized(line))
        guard rest.hasPrefix(parts[0]) else { return false }
        rest = rest.dropFirst(parts[0].count)
        if parts.count == 1 { return rest.isEmpty }
        for part in parts.dropFirst().dropLast() where !part.isEmpty {
            guard let place = rest.firstRange(of: part) else { return false }
            rest = rest[place.upperBound...]
        }
        return rest.hasSuffix(parts[parts.count - 1])
    }

    private static let units: Set<Substring> = ["ms", "s", "%", "kb/s"]

    private static func normalized(_ line: some StringProtocol) -> String {
        var words: [String] = []
        for word in String(line).split(separator: " ") {
            if words.last == "#", units.contains(word) { continue }
            let isNumber = word == "-" || word.hasPrefix("0x") || Double(word) != nil
            words.append(isNumber ? "#" : String(word).replacing(/[0-9]+/, with: "0"))
        }
        return words.joined(separator: " ")
    }
}
