import Posix

/// The writer's end of the file `control`. It takes and answers requests, and keeps the pause and the source for a
/// successor. `FrameWriter` documents its methods.
struct ControlWriter: ~Copyable {
    private let directory: BridgeDirectory
    private var file: ControlFile
    /// The source, in words for a successor.
    private var source: String
    /// The request that was taken last and has no answer yet.
    private var asked: ControlFile.Record?
    /// Whether a successor would know whether the broadcast is paused.
    private var isPauseKept = true

    /// Continues with the file of the writer before, or makes it.
    init(after recovered: RecoveredState, in directory: BridgeDirectory, source: String) throws(BridgeError) {
        file = try recovered.makeControl(in: directory, source: source)
        self.directory = directory
        self.source = source
    }

    mutating func setSource(_ words: String) throws(BridgeError) {
        do { try file.write(words, to: .source) } catch {
            throw .writing(ControlFile.fileName, words.utf8.count, in: directory, error)
        }
        source = words
    }

    mutating func takeRequest() -> BridgeRequest? {
        asked = file.waitingRecord
        guard let asked else { return directory.takeRequestFile() }
        if let request = BridgeRequest(text: asked.text) { return request }
        answer(.refused("it is not known how to \(asked.text)"))
        return nil
    }

    mutating func answer(_ answer: BridgeAnswer) {
        guard let asked else { return }
        let text: String
        switch answer {
        case .granted:
            if BridgeRequest(text: asked.text)?.pauses ?? false, !isPauseKept { return }
            text = ""
        case .refused(let reason):
            text = String(decoding: reason.utf8.prefix(ControlFile.longestText - 2), as: UTF8.self)
        }
        try? file.write(ControlFile.Record(number: asked.number, text: text), to: .answer)
        self.asked = nil
    }

    /// Keeps the pause, or its end, for a successor. `mend` repeats a failed write.
    mutating func keepPause(_ isPaused: Bool) {
        let pause = isPaused ? BroadcastState.paused.name : ""
        do {
            if file.isInPlace(in: directory) {
                try file.write(pause, to: .pause)
            } else {
                // The file was removed. Its requests will be repeated.
                file = try ControlFile(makingIn: directory, pause: pause, source: source)
            }
            isPauseKept = true
        } catch {
            isPauseKept = false
        }
    }

    /// Repeats failed writes, and makes the file anew if it was removed.
    mutating func mend(isPaused: Bool) {
        if !isPauseKept || !file.isInPlace(in: directory) { keepPause(isPaused) }
    }
}
