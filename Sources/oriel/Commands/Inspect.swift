import ArgumentParser
import FrameBridge
import Helpers
import JSON
import Posix
import Publishing
import Time

struct Inspect: ParsableCommand {
    static let configuration = CommandConfiguration(
        abstract: "Show the frame bridge as it stands: locks, header, slots, the last picture."
    )

    @OptionGroup var broadcast: BroadcastOptions

    @Flag(help: "Print JSON.")
    var json = false

    @Option(help: ArgumentHelp("Write the latest picture as PNG.", valueName: "file"))
    var png: String?

    @Flag(help: "Print again every second, until interrupted.")
    var watch = false

    func run() throws {
        let signals = try TerminationSignals()
        let directory = try broadcast.directory()
        if let png { try writePicture(of: directory, to: png) }
        var before: (inspection: BridgeInspection, at: Instant)?
        while true {
            let now: Instant = MonotonicClock.now()
            let inspection = try BridgeInspection(directory)
            let rates = before.flatMap { inspection.rates(since: $0.inspection, seconds: (now - $0.at).seconds) }
            let report = try InspectionReport(inspection, of: directory, rates)
            let isRead =
                json
                ? Console.emit(try report.printableJSONLine() + "\n") : Console.print(report.lines, redrawing: watch)
            guard watch, isRead else {
                if let problem = inspection.problem { throw problem }
                return
            }
            before = (inspection, now)
            waitReadable(signals.descriptor.raw, until: now + .seconds(1))
            if signals.take() { return }
        }
    }

    private func writePicture(of directory: BridgeDirectory, to path: String) throws {
        // While this reader is attached a sleeping broadcast looks at the screen again: give it a moment.
        var reader = try FrameReader(directory: directory)
        if try directory.hasWriter(), try reader.liveness() == .live(.active) {
            let asked: Instant = MonotonicClock.now()
            while MonotonicClock.now() < asked + .milliseconds(300) {
                if case .frame(let info) = try reader.read({ _ in }), info.capturedAt > asked { break }
                reader.wait(until: MonotonicClock.now() + .milliseconds(20))
            }
            reader.forget()
        }
        let picture = try BridgePicture(&reader, in: directory.path)
        try PNGFile.write(rgb: picture.rgb, size: picture.size, to: path)
    }
}

extension BridgeInspection {
    /// What happened since an earlier look; nil when that was at another generation.
    fileprivate func rates(since before: BridgeInspection, seconds: Double) -> InspectionReport.Rates? {
        guard before.status?.generation == status?.generation, before.fileBytes > 0, published >= before.published
        else {
            return nil
        }
        let frames = published - before.published
        let tiles = tileAges.count { UInt64($0) < frames }
        return InspectionReport.Rates(
            framesPerSecond: Double(frames) / seconds,
            tilesPerSecond: Double(tiles) / seconds
        )
    }
}
