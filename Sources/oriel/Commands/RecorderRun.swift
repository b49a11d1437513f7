import Configuration
import Control
import FrameBridge
import Helpers
import Motion
import Posix
import Publishing
import Recording

extension RecorderProcessSettings {
    /// Records until a signal comes, or the broadcast ends.
    func run() throws {
        let signals = try TerminationSignals()
        let directory = try BridgeDirectory(path: broadcast, create: false)
        let files = try RecordingFolder(recordingInto: folder)
        let connector = try FeedConnectorSettings(for: self).start()
        let place = try ProcessFolder(.recorder, in: directory)
        let listener = try place.listen()
        let isOff = directory.isRecordingOff
        if isOff { Console.note("the recordings of this broadcast are switched off: begin with \"oriel record on\"") }
        let requests = try RecorderRequests(of: "the recorder")
        let log = try EventLog(path: events)
        defer { log.close() }
        let sandbox = Sandbox(writable: folder, readable: [], socketFamilies: [])
        try enterSandbox(by: sandbox.enter)
        try log.begin()
        for mended in files.mend() { Console.note("\(mended)") }
        let control = try LineServer(answering: listener, requests.ask)
        defer { control.close() }
        var recorder = Recorder(
            into: files,
            engineSettings,
            keeping: retention,
            broadcast: name,
            base: base,
            keeping: isSupervised ? goesOn ? .goOn : .begin : .none,
            isOff: isOff,
            takesViewers: takesViewers,
            requests: requests,
            connector: connector,
            showsProgress: !isSupervised && Console.hasTerminal
        ) { [folder, isSupervised] news in
            switch news {
            case .completed(let file) where !isSupervised: Console.print(["\(folder)/\(file)"])
            case .progress: Console.progress("\(news)")
            default: log.tell(CallEvent(news, in: folder))
            }
        }
        if recorder.run(until: signals) == .broadcastEnded, !isSupervised { Console.note("the broadcast has ended") }
    }

    private var engineSettings: RecordingEngine.Settings {
        var settings = RecordingEngine.Settings()
        (settings.segmentTime, settings.segmentSize) = (segmentSeconds.map { .seconds($0) }, segmentBytes)
        settings.title = name
        (settings.clips, settings.replay) = (clips, replaySeconds.map { Duration.seconds($0) })
        return settings
    }

    private var retention: Retention {
        var retention = Retention()
        retention.age = keptSeconds.map { .seconds($0) }
        (retention.bytes, retention.reserve) = (keptBytes, reservedBytes)
        return retention
    }
}

extension RecordingFolder {
    /// - Throws: a sentence.
    convenience init(recordingInto path: String) throws {
        do throws(SystemError) { try self.init(path) } catch {
            throw Failure(.failed, "cannot record into \(path) (\(error.reason)): choose another folder")
        }
    }

    /// - Throws: a sentence.
    convenience init(listing path: String) throws {
        do throws(SystemError) { try self.init(path) } catch {
            throw Failure(.failed, "cannot read \(path) (\(error.reason)): choose another folder")
        }
    }
}

extension CallEvent {
    init(_ news: Recorder.News, in folder: String) {
        self.init(sentence: "\(news)")
        switch news {
        case .clipBegan(let number, let cause, let file):
            (kind, id, state) = (.clipBegun, number, cause.rawValue)
            files = file.map { ["\(folder)/\($0)"] }
        case .clipEnded(let number, let reason, let names):
            (kind, id, state) = (.clipEnded, number, reason.rawValue)
            files = names.map { "\(folder)/\($0)" }
        default: break
        }
    }
}
