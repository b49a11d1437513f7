import ArgumentParser
import Control
import FrameBridge
import Glibc
import JSON
import Media
import Posix
import Time

struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the state of a broadcast, its calls and viewers.",
        discussion: "Exits 0 while a capture process lives and 75 when none does."
    )

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Flag(help: "Print again every second, until interrupted.")
    var watch = false

    func run() throws {
        let signals = try TerminationSignals()
        while true {
            let report = try StatusReport(broadcast)
            let isRead =
                json
                ? Console.emit(try report.printableJSONLine() + "\n") : Console.print(report.lines, redrawing: watch)
            guard watch, isRead else {
                if report.isLive { return }
                throw ExitCode(Failure.Code.tryAgain.rawValue)
            }
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + .seconds(1))
            if signals.take() { return }
        }
    }
}

/// The output of `oriel status`. Names and units are those of its JSON: `Ms` is milliseconds, `S` seconds.
struct StatusReport: Encodable {
    let directory: String
    let state: String
    let reason: String?
    let pid: Int32?
    let source: String?
    let width: Int?
    let height: Int?
    let framesPublished: UInt64
    let frameAgeMs: Double?
    let uptimeS: Double?
    let hasSender: Bool
    let senders: [SenderEntry]
    let viewers: [ViewerEntry]
    /// The viewers that knock.
    let knocks: [KnockEntry]
    /// The status of the sound process; nil if there is none, or it does not answer.
    let sound: SoundStatus?
    /// Why the status of the sound process is not known, for people; nil if it is, or there is no sound process.
    let soundProblem: String?

    var isLive: Bool { state != Liveness.stopped.name && state != Liveness.dead.name }

    /// The text for a person: a line for the broadcast, one for the sound if there is any, one for each problem of a sender and each viewer that
    /// knocks, and tables of calls and viewers.
    var lines: [String] {
        let calls = senders.flatMap { sender in (sender.calls ?? []).map { (sender.pid, $0) } }
        return [sentence] + [sound?.sentence, soundProblem].compactMap(\.self) + senders.compactMap(\.problem)
            + senders.flatMap(\.serverSentences) + knocks.map(\.sentence)
            + table(CallEntry.head, calls.map { ($0, $1.row) })
            + table(ViewerEntry.head, viewers.map { ($0.sender, $0.row) })
    }

    /// An empty line, and a table with a column of senders if there are several; nothing without rows.
    private func table(_ head: [String], _ rows: [(sender: Int32, cells: [String])]) -> [String] {
        if rows.isEmpty { return [] }
        let isOne = senders.count == 1
        return [""]
            + oriel.table([head + (isOne ? [] : ["sender"])] + rows.map { $0.cells + (isOne ? [] : ["\($0.sender)"]) })
    }

    private var sentence: String {
        var parts = ["\(state) in \(directory)"]
        if let reason { parts.append(reason) }
        if let source, let width, let height { parts.append("\(source), \(width)x\(height)") }
        if let pid { parts.append("process \(pid)") }
        if isLive {
            parts.append("\(framesPublished) frames")
            if let frameAgeMs { parts.append("the last \(rounded(frameAgeMs)) ms ago") }
            parts.append(hasSender ? "a sender is attached" : "no sender is attached")
            let limits = Set(senders.compactMap(\.limit?.rawValue)).sorted()
            if !viewers.isEmpty, !limits.isEmpty { parts.append("limit: " + limits.joined(separator: ", ")) }
            if let sound = senders.lazy.compactMap(\.sound).first {
                parts.append(sound.silent ? "silent" : "sound at \(sound.bitrateBps / 1000) kb/s")
            }
            let count = viewers.count { $0.viewer.pictures != .received }
            if count > 0 { parts.append(count == 1 ? "1 viewer" : "\(count) viewers") }
        }
        return parts.joined(separator: ", ")
    }
}

extension StatusReport {
    init(_ broadcast: BroadcastOptions) throws {
        do {
            let directory = try broadcast.directory()
            self.init(
                directory.path,
                try BridgeInspection(directory),
                Senders(of: directory).reports(),
                SoundClient(of: directory).statusIfThere
            )
        } catch BridgeError.noBroadcast(let path) {
            self.init(path, nil, [], nil)
        }
    }

    /// - Parameter inspection: nil if there is no broadcast.
    private init(
        _ path: String,
        _ inspection: BridgeInspection?,
        _ reports: [(pid: Int32, report: Result<SenderStatus, ControlError>)],
        _ sound: Result<SoundStatus, ControlError>?
    ) {
        switch sound {
        case .success(let status): (self.sound, soundProblem) = (status, nil)
        case .failure(let error):
            (self.sound, soundProblem) = (nil, "sound: \(error)")
        case nil: (self.sound, soundProblem) = (nil, nil)
        }
        let now: Instant = MonotonicClock.now()
        let liveness = inspection?.liveness ?? .stopped
        let isLive = liveness != .stopped && liveness != .dead
        let status = inspection?.status
        directory = path
        state = liveness.name
        reason = status.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        pid = isLive ? status?.pid : nil
        source = inspection.flatMap { $0.source.isEmpty ? nil : $0.source }
        width = inspection?.latest?.width
        height = inspection?.latest?.height
        framesPublished = inspection?.published ?? 0
        frameAgeMs = (inspection?.latest).map { milliseconds(now - $0.capturedAt) }
        uptimeS = isLive ? status.map { milliseconds(now - $0.startedAt) / 1000 } : nil
        hasSender = inspection?.hasReaders ?? false
        senders = reports.map { SenderEntry(pid: $0.pid, $0.report) }
        knocks = reports.flatMap { pid, report in
            ((try? report.get())?.knocks ?? []).map { KnockEntry(sender: pid, knock: $0) }
        }
        viewers = reports.flatMap { pid, report in
            ((try? report.get())?.viewers ?? []).map { ViewerEntry(sender: pid, viewer: $0) }
        }.sorted { ($0.viewer.id, $0.sender) < ($1.viewer.id, $1.sender) }
    }
}

/// Puts the cells of all rows into columns, each as wide as its widest cell. A sender may answer with texts of any length, so
/// cells are cut.
private func table(_ rows: [[String]]) -> [String] {
    let rows = rows.map { row in row.map { String($0.prefix(120)) } }
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
            .joined(separator: "  ")
    }
}

/// One sender, as `oriel status` tells of it.
struct SenderEntry: Encodable {
    let pid: Int32
    let calls: [CallEntry]?
    let bitrateBps: Int?
    let quantizer: Int?
    let limit: SenderStatus.Limit?
    let sound: SenderStatus.Sound?
    /// The STUN and TURN servers that do not work.
    let servers: [SenderStatus.Server]?
    /// Why the sender gave no answer, for people; nil if it answered.
    let problem: String?

    init(pid: Int32, _ report: Result<SenderStatus, ControlError>) {
        self.pid = pid
        switch report {
        case .success(let report):
            calls = report.calls.map { call in
                CallEntry(call: call, viewers: report.viewers.filter { $0.call == call.name }.map(\.id))
            }
            (bitrateBps, problem) = (report.bitrateBps, nil)
            (quantizer, limit, sound, servers) = (report.quantizer, report.limit, report.sound, report.servers)
        case .failure(let error):
            (calls, bitrateBps, problem) = (nil, nil, "\(error)")
            (quantizer, limit, sound, servers) = (nil, nil, nil, nil)
        }
    }

    /// A sender may say anything.
    var serverSentences: [String] {
        (servers ?? []).map { String($0.reason.filter { !$0.isNewline }.prefix(300)) }
    }
}

/// One call of a sender, as `oriel status` tells of it.
struct CallEntry: Encodable {
    private enum Field: CodingKey { case viewers }

    let call: SenderStatus.Call
    /// The numbers of the viewers in the call.
    let viewers: [ParticipantID]

    func encode(to encoder: any Encoder) throws {
        try call.encode(to: encoder)
        var fields = encoder.container(keyedBy: Field.self)
        try fields.encode(viewers, forKey: .viewers)
    }

    static let head = ["call", "is", "for", "viewers", "why"]

    var row: [String] {
        [
            call.name, call.state.rawValue, "\(rounded(call.sinceS)) s",
            viewers.isEmpty ? "-" : viewers.map { "\($0)" }.joined(separator: ", "), call.reason ?? "-",
        ]
    }
}

private enum SenderField: CodingKey { case sender }

/// What a sender tells of somebody: its fields, and beside them `sender`, the sender's process.
private func encodeEntry(_ somebody: some Encodable, of sender: Int32, to encoder: any Encoder) throws {
    try somebody.encode(to: encoder)
    var fields = encoder.container(keyedBy: SenderField.self)
    try fields.encode(sender, forKey: .sender)
}

/// One who asks to look in, as `oriel status` tells of it.
struct KnockEntry: Encodable {
    /// Process of the sender.
    let sender: Int32
    let knock: SenderStatus.Knock

    func encode(to encoder: any Encoder) throws { try encodeEntry(knock, of: sender, to: encoder) }

    /// A sender may say anything.
    var sentence: String {
        func short(_ text: String) -> String { String(text.filter { !$0.isNewline }.prefix(200)) }
        let name = knock.name.isEmpty ? "somebody" : "\"\(short(knock.name))\""
        let note = knock.note.isEmpty ? "" : " (\(short(knock.note)))"
        return
            "\(knock.id): \(name) from \(short(knock.address))\(note) has asked to look in for \(rounded(knock.sinceS)) s"
    }
}

/// One viewer, as `oriel status` tells of it.
struct ViewerEntry: Encodable {
    /// Process of the sender.
    let sender: Int32
    let viewer: SenderStatus.Viewer

    func encode(to encoder: any Encoder) throws { try encodeEntry(viewer, of: sender, to: encoder) }

    static let head = [
        "viewer", "from", "for", "pictures", "codec", "rendition", "kb/s", "target", "link", "queue", "round trip",
        "loss",
        "frames", "nacks", "plis", "sound", "talk",
    ]

    var row: [String] {
        [
            viewer.name.map { "\(viewer.id) \"\($0)\"" } ?? "\(viewer.id)", viewer.address,
            "\(rounded(viewer.sinceS)) s", viewer.pictures.rawValue, viewer.codec.isEmpty ? "-" : viewer.codec,
            viewer.rendition.map { "\($0)" } ?? "-", "\(viewer.bitrateBps / 1000)",
            viewer.targetBps.map { "\($0 / 1000)" } ?? "-", viewer.estimateBps.map { "\($0 / 1000)" } ?? "-",
            viewer.queueMs.map { "\(rounded($0)) ms" } ?? "-",
            viewer.rttMs.map { "\(rounded($0)) ms" } ?? "-", viewer.lossRatio.map { "\(rounded($0 * 100)) %" } ?? "-",
            "\(viewer.framesSent)", "\(viewer.nacks)", "\(viewer.plis)",
            viewer.soundBps.map { "\($0 / 1000) kb/s" } ?? "-", talk,
        ]
    }

    private var talk: String {
        if viewer.talk == .off { return "-" }
        guard let voice = viewer.voice else { return viewer.talk.rawValue }
        return [
            viewer.talk.rawValue, voice.levelDb.map { "\(rounded($0)) dB" }, "\(rounded(voice.lossRatio * 100)) % lost",
            "\(rounded(voice.concealedRatio * 100)) % made up", "\(rounded(voice.bufferMs)) ms",
        ].compactMap(\.self).joined(separator: ", ")
    }
}
