import ArgumentParser
import Control
import FrameBridge
import Helpers
import JSON
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
            let snapshot = try snapshot()
            let isRead =
                json
                ? Console.emit(try snapshot.printableJSONLine() + "\n")
                : Console.print(snapshot.lines, redrawing: watch)
            guard watch, isRead else {
                if snapshot.capture.isLive { return }
                throw ExitCode(Failure.Code.tryAgain.rawValue)
            }
            waitReadable(signals.descriptor.raw, until: MonotonicClock.now() + .seconds(1))
            if signals.take() { return }
        }
    }

    private func snapshot() throws -> Snapshot {
        do { return try Snapshot(of: broadcast.directory()) } catch BridgeError.noBroadcast(let path) {
            return Snapshot(directory: path)
        }
    }
}
