import ArgumentParser
import FrameBridge
import Glibc
import Posix

struct Status: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Tell how a broadcast is.",
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
                json ? Console.emit(try oriel.json(report) + "\n") : Console.print(report.lines, redrawing: watch)
            guard watch, isRead else {
                if report.isLive { return }
                throw ExitCode(Failure.Code.tryAgain.rawValue)
            }
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + 1_000_000_000)
            if signals.take() { return }
        }
    }
}

/// What `oriel status` tells.
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
    let viewers: [SenderFile.Viewer]

    let isLive: Bool

    enum CodingKeys: CodingKey {
        case directory, state, reason, pid, source, width, height, framesPublished, frameAgeMs, uptimeS, hasSender,
            viewers
    }

    init(_ broadcast: BroadcastOptions) throws {
        do {
            let directory = try broadcast.directory()
            self.init(try BridgeInspection(directory), viewers: SenderFile.viewers(of: directory))
        } catch BridgeError.noBroadcast(let path) {
            self.init(nothingIn: path)
        }
    }

    private init(_ inspection: BridgeInspection, viewers: [SenderFile.Viewer]) {
        let now = MonotonicClock.now()
        directory = inspection.path
        state = inspection.liveness.name
        isLive = inspection.liveness != .stopped && inspection.liveness != .dead
        reason = inspection.status.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        pid = isLive ? inspection.status?.pid : nil
        source = inspection.source.isEmpty ? nil : inspection.source
        width = inspection.latest?.width
        height = inspection.latest?.height
        framesPublished = inspection.published
        frameAgeMs = inspection.latest.map { milliseconds(from: $0.capturedAt, to: now) }
        uptimeS = isLive ? inspection.status.map { milliseconds(from: $0.startedAt, to: now) / 1000 } : nil
        hasSender = inspection.hasReaders
        self.viewers = viewers
    }

    private init(nothingIn path: String) {
        directory = path
        state = Liveness.stopped.name
        isLive = false
        (reason, pid, source, width, height, frameAgeMs, uptimeS) = (nil, nil, nil, nil, nil, nil, nil)
        framesPublished = 0
        hasSender = false
        viewers = []
    }

    /// For a person: one line, and one more for each viewer.
    var lines: [String] {
        guard !viewers.isEmpty else { return [sentence] }
        let rows = [["viewer", "from", "for", "codec", "kb/s", "round trip", "loss", "frames", "nacks", "plis"]]
        return [sentence, ""] + table(rows + viewers.map(\.row))
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
            if !viewers.isEmpty { parts.append(viewers.count == 1 ? "1 viewer" : "\(viewers.count) viewers") }
        }
        return parts.joined(separator: ", ")
    }
}

/// Lines with the cells of all rows in columns, each as wide as its widest cell.
private func table(_ rows: [[String]]) -> [String] {
    let widths = rows[0].indices.map { column in rows.map { $0[column].count }.max() ?? 0 }
    return rows.map { row in
        zip(row, widths).map { cell, width in cell + String(repeating: " ", count: width - cell.count) }
            .joined(separator: "  ")
    }
}

extension SenderFile.Viewer {
    fileprivate var row: [String] {
        [
            "\(id)", address, "\(rounded(sinceS)) s", codec, "\(bitrateBps / 1000)",
            rttMs.map { "\(rounded($0)) ms" } ?? "-", lossRatio.map { "\(rounded($0 * 100)) %" } ?? "-",
            "\(framesSent)",
            "\(nacks)", "\(plis)",
        ]
    }
}

/// Milliseconds between two instants, with three digits after the point; negative when `end` is earlier.
func milliseconds(from start: UInt64, to end: UInt64) -> Double {
    let difference = Double(end) - Double(start)
    return (difference / 1000).rounded() / 1000
}

/// A whole number for people.
func rounded(_ value: Double) -> String { value.magnitude < 1e15 ? "\(Int(value.rounded()))" : "?" }
