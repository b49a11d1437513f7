import Calls
import Configuration
import Helpers
import Posix
import Publishing
import Sender

/// The sender process.
struct SenderProcess {
    let settings: SenderProcessSettings
    let calls: [CallPlan]

    init(_ settings: SenderProcessSettings) throws {
        self.settings = settings
        calls = try settings.calls.map { try CallPlan(parsing: $0) }
    }

    func run() throws {
        let signals = try TerminationSignals()
        let (files, broadcast) = (settings.files, settings.broadcast)
        try OutputFile.requireWritable(files.statistics, files.events)
        try requireThreads()
        let waits = settings.conduct.waitsForBroadcast
        guard let reader = try AttachedReader.open(broadcast, waits: waits, until: signals) else { return }
        let log = try files.statistics.map { try StatisticsLog(path: $0) }
        let events = try EventLog(path: files.events)
        guard let rendering = try PreparedRendering.prepare(settings.rendering, broadcast, until: signals) else {
            return
        }
        let end = try send(reader, log: log, events, rendering, until: signals)
        if end == .broadcastStopped { Console.note("the broadcast has ended") }
    }
}
