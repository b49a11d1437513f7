import Media

// The text of `oriel status`. A sender may send any text, so it is shortened.

extension Snapshot {
    /// The text for a person: a line for the broadcast, one for its sound, one for each problem and each knock, and
    /// tables of calls and viewers.
    package var lines: [String] {
        let calls = senders.flatMap { sender in sender.calls.map { (sender.pid, $0.row) } }
        let facts = ViewerSnapshot.facts.filter { $0.head != nil }
        let viewers = viewers.map { entry in (entry.sender, facts.map { $0.text(entry.somebody) ?? "-" }) }
        return [sentence] + [sound?.sentence, soundProblem].compactMap(\.self)
            + recorders.map { "recorder: \($0.sentence)" } + [recorderProblem].compactMap(\.self)
            + senders.compactMap(\.problem)
            + senders.flatMap { ($0.report?.servers ?? []).map { short($0.reason, 300) } }
            + knocks.map(\.somebody.sentence)
            + table(["call", "is", "for", "viewers", "why"], calls) + table(facts.compactMap(\.head), viewers)
    }

    /// An empty line, and a table, with a column of senders if there are several; nothing without rows.
    private func table(_ head: [String], _ rows: [(sender: Int32, cells: [String])]) -> [String] {
        if rows.isEmpty { return [] }
        let isOne = senders.count == 1
        return [""]
            + columns([head + (isOne ? [] : ["sender"])] + rows.map { $0.cells + (isOne ? [] : ["\($0.sender)"]) })
    }

    private var sentence: String {
        let reports = senders.compactMap(\.report)
        var parts = ["\(capture.state) in \(directory)"]
        if let reason = capture.reason { parts.append(reason) }
        if let source = capture.source, let width = capture.width, let height = capture.height {
            parts.append("\(source), \(width)x\(height)")
        }
        if capture.state == "dead" { parts.append("its capture process has died: start it again, and it goes on") }
        if let pid = capture.pid { parts.append("process \(pid)") }
        if capture.isLive {
            parts.append("\(capture.framesPublished) frames")
            if let age = capture.frameAgeMs { parts.append("the last \(rounded(age)) ms ago") }
            parts.append(capture.hasSender ? "a sender is attached" : "no sender is attached")
            if !viewers.isEmpty {
                let limits = Set(reports.compactMap(\.limit))
                parts += limits.map { $0 == .still ? "nothing moves" : "limited by the \($0.rawValue)" }.sorted()
            }
            if let sound = reports.lazy.compactMap(\.sound).first {
                parts.append(sound.silent ? "silent" : "sound at \(sound.bitrateBps / 1000) kb/s")
            }
            if let part = reports.lazy.compactMap(\.viewport).first {
                parts.append("viewers see the part \(part.map { "\($0)" }.joined(separator: ","))")
            }
            if let legibility = reports.lazy.compactMap(\.legibility).first { parts.append("legibility \(legibility)") }
            let frames = reports.lazy.compactMap(\.capabilities?.commands.statusFrame?.selected)
            if let frame = frames.first(where: { $0 != StatusFrame.off.rawValue }) {
                parts.append("status frame \(frame)")
            }
            let count = viewers.count { $0.somebody.peer.media.pictures != .received }
            if count > 0 { parts.append(count == 1 ? "1 viewer" : "\(count) viewers") }
        }
        return parts.joined(separator: ", ")
    }
}

extension Snapshot.Sender.Call {
    fileprivate var row: [String] {
        [
            call.name, call.state.rawValue, "\(rounded(call.sinceS)) s",
            viewers.isEmpty ? "-" : viewers.map { "\($0)" }.joined(separator: ", "), call.reason ?? "-",
        ]
    }
}

extension SenderSnapshot.Knock {
    fileprivate var sentence: String {
        let name = name.isEmpty ? "somebody" : "\"\(short(name, 200))\""
        let note = note.isEmpty ? "" : " (\(short(note, 200)))"
        return "\(id): \(name) from \(short(address, 200))\(note) has asked to look in for \(rounded(sinceS)) s"
    }
}

private func short(_ text: String, _ length: Int) -> String { String(text.filter { !$0.isNewline }.prefix(length)) }

/// Puts the cells of all rows into columns, each as wide as its widest cell.
private func columns(_ rows: [[String]]) -> [String] {
    let rows = rows.map { row in row.map { String($0.prefix(120)) } }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
            .joined(separator: "  ")
    }
}
