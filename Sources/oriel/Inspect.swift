import ArgumentParser
import FrameBridge
import Posix

struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the frame bridge as it stands: locks, header, slots, the last picture."
    )

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: ArgumentHelp("Write the latest picture as PNG.", valueName: "file"))
    var png: String?

    func run() throws {
        let directory = try broadcast.directory()
        if let png { try writePicture(of: directory, to: png) }
        let inspection = try BridgeInspection(directory)
        let report = InspectionReport(inspection)
        Console.print(json ? try oriel.json(report) : report.text)
        if let problem = inspection.problem { throw problem }
    }

    private func writePicture(of directory: BridgeDirectory, to path: String) throws {
        // While this reader is attached a sleeping broadcast looks at the screen again: give it a moment.
        var reader = try FrameReader(directory: directory)
        if try directory.hasWriter(), try reader.liveness() == .live(.active) {
            let asked = MonotonicClock.now()
            while MonotonicClock.now() < asked + 300_000_000 {
                if case .frame(let info) = try reader.read({ _ in }), info.capturedAt > asked { break }
                reader.wait(until: MonotonicClock.now() + 20_000_000)
            }
            reader.forget()
        }
        let picture = try BridgePicture(&reader, in: directory.path)
        try PNGFile.write(rgb: picture.rgb, size: picture.size, to: path)
    }
}

/// What `oriel inspect` tells. Times are ages in milliseconds.
private struct InspectionReport: Encodable {
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

    let directory: String
    let state: String
    let statedState: String?
    let writerLocked: Bool
    let readersAttached: Bool
    let generation: String?
    let source: String
    let framesPerSecond: Int
    let fileBytes: Int
    let published: UInt64
    let heartbeatAgeMs: Double?
    let stateAgeMs: Double?
    let slots: [Slot]

    init(_ inspection: BridgeInspection) {
        let now = MonotonicClock.now()
        directory = inspection.path
        state = inspection.liveness.name
        statedState = inspection.status?.state.name
        writerLocked = inspection.liveness != .dead && inspection.liveness != .stopped
        readersAttached = inspection.hasReaders
        generation = inspection.status.flatMap { $0.generation == 0 ? nil : String($0.generation, radix: 16) }
        source = inspection.source
        framesPerSecond = inspection.framesPerSecond
        fileBytes = inspection.fileBytes
        published = inspection.published
        heartbeatAgeMs = inspection.fileBytes == 0 ? nil : milliseconds(from: inspection.heartbeatAt, to: now)
        stateAgeMs = inspection.fileBytes == 0 ? nil : milliseconds(from: inspection.stateSince, to: now)
        slots = inspection.slots.enumerated().map { index, slot in
            Slot(
                sequence: slot.sequence,
                isLatest: index == inspection.latestSlot,
                isBeingWritten: !slot.sequence.isMultiple(of: 2),
                frame: slot.info?.number,
                width: slot.info?.width,
                height: slot.info?.height,
                orientation: slot.info?.orientation.name,
                capturedAgeMs: slot.info.map { milliseconds(from: $0.capturedAt, to: now) },
                captureToPublishMs: slot.info.map { milliseconds(from: $0.capturedAt, to: $0.publishedAt) }
            )
        }
    }

    var text: String {
        var lines = [
            "directory   \(directory)",
            "state       \(state)",
            "locks       writer \(writerLocked ? "held" : "free"), readers \(readersAttached ? "attached" : "none")",
        ]
        if let generation {
            lines.append("generation  \(generation), \(fileBytes) bytes")
            lines.append("source      \(source) at \(framesPerSecond) frames/s")
            lines.append("published   \(published) frames")
        }
        if let heartbeatAgeMs { lines.append("heartbeat   \(rounded(heartbeatAgeMs)) ms ago") }
        for (index, slot) in slots.enumerated() {
            var line = "slot \(index)      sequence \(slot.sequence)\(slot.isBeingWritten ? " (being written)" : "")"
            if let frame = slot.frame, let width = slot.width, let height = slot.height,
                let orientation = slot.orientation, let age = slot.capturedAgeMs
            {
                line += ", frame \(frame), \(width)x\(height), monitor \(orientation), captured \(rounded(age)) ms ago"
            } else {
                line += ", empty"
            }
            lines.append(line + (slot.isLatest ? "  <- latest" : ""))
        }
        return lines.joined(separator: "\n")
    }
}

extension Orientation {
    /// In the words of xrandr.
    fileprivate var name: String {
        ["normal", "left", "inverted", "right"][quarterTurns] + (isMirrored ? ", mirrored" : "")
    }
}
