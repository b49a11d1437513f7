import Control
import FrameBridge
import Posix
import Time

/// What `oriel inspect` tells. Times are ages in milliseconds.
struct InspectionReport: Encodable {
    struct Slot: Encodable {
        let sequence: UInt64
        let isLatest: Bool
        let isBeingWritten: Bool
        let frame: UInt64?
        let width: Int?
        let height: Int?
        let orientation: String?
        let capturedAgeMs: Double?
        let captureToPublishMs: Double?
    }

    struct Tiles: Encodable {
        let columns: Int
        /// Row by row.
        let framesSinceChange: [UInt32]
    }

    struct Sound: Encodable {
        struct Block: Encodable {
            let number: UInt64
            let channels: Int
            let capturedAgeMs: Double
        }

        let state: String
        let problem: String?
        let writers: [LockHolder]
        let generation: String?
        let generations: [String]
        let fileBytes: Int
        let blocksWritten: UInt64
        let newestBlock: Block?
        let horizonAgeMs: Double?
        let heartbeatAgeMs: Double?
    }

    /// Since the look before.
    struct Rates: Encodable {
        let framesPerSecond: Double
        let tilesPerSecond: Double
    }

    let directory: String
    let state: String
    let statedState: String?
    let reason: String?
    let lastError: String?
    let lastErrorAgeMs: Double?
    let writerLocked: Bool
    let writers: [LockHolder]
    let readersAttached: Bool
    let readers: [LockHolder]
    let generation: String?
    /// Files in the folder; more than one only for an instant, or after a crash until the next start.
    let generations: [String]
    let source: String
    let framesPerSecond: Int
    let fileBytes: Int
    let published: UInt64
    let heartbeatAgeMs: Double?
    let stateAgeMs: Double?
    let slots: [Slot]
    let tiles: Tiles
    let sound: Sound
    /// Nil at the first look.
    let rates: Rates?
    /// Nil where there is no sound process that answers.
    let soundProcess: SoundSnapshot?

    var lines: [String] {
        var lines = [
            "directory   \(directory)",
            "state       \(state)\(reason.map { " (\($0))" } ?? "")\(stateAgeMs.map { " for \(rounded($0)) ms" } ?? "")",
            "writer      \(writerLocked ? Self.names(writers, unseen: "one that is not seen here") : "none")",
            "readers     \(readersAttached ? Self.names(readers, unseen: "some that are not seen here") : "none")",
        ]
        if let lastError {
            lines.append("last error  \(lastError)\(lastErrorAgeMs.map { ", \(rounded($0)) ms ago" } ?? "")")
        }
        if let generation {
            let others = generations.count - 1
            lines.append(
                "generation  \(generation), \(fileBytes) bytes\(others > 0 ? ", and \(others) left over" : "")"
            )
            lines.append("source      \(source) at \(framesPerSecond) frames/s")
            lines.append("published   \(published) frames" + rateText)
        }
        if let heartbeatAgeMs { lines.append("heartbeat   \(rounded(heartbeatAgeMs)) ms ago") }
        for (index, slot) in slots.enumerated() { lines.append("slot \(index)      \(slot.text)") }
        return lines + sound.lines + (soundProcess?.lines ?? []) + heatMap
    }

    private var rateText: String {
        rates.map { ", \(rounded($0.framesPerSecond)) a second, with \(rounded($0.tilesPerSecond)) tiles changed" }
            ?? ""
    }

    fileprivate static func names(_ holders: [LockHolder], unseen: String) -> String {
        holders.isEmpty ? unseen : holders.map { "\($0.program) (\($0.pid))" }.joined(separator: ", ")
    }

    /// A character for each tile: the fuller, the later it changed.
    private var heatMap: [String] {
        guard tiles.columns > 0, !tiles.framesSinceChange.isEmpty else { return [] }
        let rows = stride(from: 0, to: tiles.framesSinceChange.count, by: tiles.columns).map { start in
            String(tiles.framesSinceChange[start...].prefix(tiles.columns).map(Self.shade))
        }
        return ["", "tiles       █ changed in the last frame, ▓ within 10, ▒ 100, ░ 1000, · longer ago", ""] + rows
    }

    private static func shade(_ age: UInt32) -> Character {
        switch age {
        case 0: "█"
        case ...10: "▓"
        case ...100: "▒"
        case ...1000: "░"
        default: "·"
        }
    }
}

extension InspectionReport {
    init(_ inspection: BridgeInspection, of directory: BridgeDirectory, _ rates: Rates?) throws(BridgeError) {
        let now: Instant = MonotonicClock.now()
        self.directory = inspection.path
        state = inspection.liveness.name
        statedState = inspection.status?.state.name
        reason = inspection.status.flatMap { $0.reason.isEmpty ? nil : $0.reason }
        lastError = inspection.problem?.description ?? inspection.status?.lastError?.reason
        let past = inspection.problem == nil ? inspection.status?.lastError : nil
        lastErrorAgeMs = past.map { milliseconds(now - $0.at) }
        writerLocked = inspection.liveness != .dead && inspection.liveness != .stopped
        (writers, readers) = (directory.writers(), directory.readers())
        readersAttached = inspection.hasReaders
        generation = inspection.status.flatMap { $0.generation == 0 ? nil : String($0.generation, radix: 16) }
        generations = inspection.generations
        source = inspection.source
        framesPerSecond = inspection.framesPerSecond
        fileBytes = inspection.fileBytes
        published = inspection.published
        heartbeatAgeMs = inspection.heartbeatAt.map { milliseconds(now - $0) }
        // A process that hangs or has died has not told since when.
        let isTold = if case .live = inspection.liveness { true } else { inspection.liveness == .stopped }
        stateAgeMs = !isTold ? nil : inspection.stateSince.map { milliseconds(now - $0) }
        slots = inspection.slots.enumerated().map { index, slot in
            Slot(
                sequence: slot.sequence,
                isLatest: index == inspection.latestSlot,
                isBeingWritten: !slot.sequence.isMultiple(of: 2),
                frame: slot.info?.number,
                width: slot.info?.width,
                height: slot.info?.height,
                orientation: slot.info?.orientation.name,
                capturedAgeMs: slot.info.map { milliseconds(now - $0.capturedAt) },
                captureToPublishMs: slot.info.flatMap { info in
                    info.publishedAt.map { milliseconds($0 - info.capturedAt) }
                }
            )
        }
        tiles = Tiles(columns: inspection.tileColumns, framesSinceChange: inspection.tileAges)
        self.rates = rates
        sound = Sound(try SoundInspection(directory), writers: directory.soundWriters())
        soundProcess = try? SoundClient(of: directory).statusIfThere?.get()
    }
}

extension InspectionReport.Sound {
    init(_ inspection: SoundInspection, writers: [LockHolder]) {
        let now: Instant = MonotonicClock.now()
        state = inspection.liveness.name
        problem = inspection.problem?.description
        self.writers = writers
        generation = inspection.generation.map { String($0, radix: 16) }
        generations = inspection.generations
        fileBytes = inspection.fileBytes
        blocksWritten = inspection.written
        newestBlock = inspection.newest.map {
            Block(number: $0.number, channels: $0.channels, capturedAgeMs: milliseconds(now - $0.capturedAt))
        }
        horizonAgeMs = inspection.horizon.map { milliseconds(now - $0) }
        heartbeatAgeMs = inspection.heartbeatAt.map { milliseconds(now - $0) }
    }

    /// Nothing where there is no sound.
    fileprivate var lines: [String] {
        guard state != Liveness.stopped.name else { return [] }
        let writer = writers.isEmpty ? "" : ", \(InspectionReport.names(writers, unseen: ""))"
        var lines = ["sound       \(state)\(writer)"]
        if let problem { lines.append("            \(problem)") }
        guard let generation else { return lines }
        let left = generations.count - 1
        lines.append(
            "            generation \(generation), \(fileBytes) bytes\(left > 0 ? ", and \(left) left over" : "")"
        )
        let newest =
            newestBlock.map { ", the newest of \($0.channels) channels \(rounded($0.capturedAgeMs)) ms ago" } ?? ""
        let hidden = horizonAgeMs.map { ", none from more than \(rounded($0)) ms ago may be heard" } ?? ""
        lines.append("            \(blocksWritten) blocks\(newest)\(hidden)")
        if let heartbeatAgeMs { lines.append("            heartbeat \(rounded(heartbeatAgeMs)) ms ago") }
        return lines
    }
}

extension InspectionReport.Slot {
    fileprivate var text: String {
        var text = "sequence \(sequence)\(isBeingWritten ? " (being written)" : "")"
        if let frame, let width, let height, let orientation, let capturedAgeMs {
            text +=
                ", frame \(frame), \(width)x\(height), monitor \(orientation), captured \(rounded(capturedAgeMs)) ms ago"
        } else {
            text += ", empty"
        }
        return text + (isLatest ? "  <- latest" : "")
    }
}

extension Orientation {
    /// The orientation as xrandr names it.
    fileprivate var name: String {
        ["normal", "left", "inverted", "right"][quarterTurns] + (isMirrored ? ", mirrored" : "")
    }
}
