import Glibc
import Posix
public import Time

/// A command's request to the capture process; of several before a tick, the last one counts.
public enum BridgeRequest: Sendable, Equatable {
    /// Show a slate and stop looking at the screen.
    case pause
    /// Keep the last picture and stop looking at the screen.
    case freeze
    /// Look at the screen again.
    case resume
    /// End the broadcast.
    case stop
    /// Show something else, named in the words of the capture process: one line.
    case show(String)

    /// Whether it asks the capture process not to look at the screen any more.
    var pauses: Bool { self == .pause || self == .freeze }

    /// Whether it asks for something else to be shown.
    fileprivate var showsAnother: Bool { if case .show = self { true } else { false } }

    /// The line that asks for it.
    var text: String {
        switch self {
        case .pause: "pause"
        case .freeze: "freeze"
        case .resume: "resume"
        case .stop: "stop"
        case .show(let source): "show \(source)"
        }
    }

    /// Nil for anything else than a request.
    init?(text: String) {
        let words = text.split(maxSplits: 1, whereSeparator: \.isWhitespace)
        let rest = words.dropFirst().first?.split(whereSeparator: \.isNewline).first.map(String.init)
        switch (words.first, rest) {
        case ("pause", _): self = .pause
        case ("freeze", _): self = .freeze
        case ("resume", _): self = .resume
        case ("stop", _): self = .stop
        case ("show", let source?): self = .show(source)
        default: return nil
        }
    }
}

extension BridgeRequest: CustomStringConvertible {
    /// What is asked for, as a verb for a person.
    public var description: String {
        switch self {
        case .pause, .freeze: "pause"
        case .resume: "resume"
        case .stop: "stop"
        case .show(let source): "show \(source)"
        }
    }
}

/// What a capture process says to a request.
public enum BridgeAnswer: Sendable, Equatable {
    /// The request is done, and a pause outlives the capture process.
    case granted
    /// Nothing has changed, for this reason: a sentence for a person.
    case refused(String)
}

extension BridgeDirectory {
    private static let requestFile = "request"
    private static let takenFile = ".request.taken"

    /// Asks the capture process for something, and waits for its answer. Takes no room in the file system.
    ///
    /// Somebody else may ask meanwhile. Then it is asked again, but not in the place of a pause. Another source does not take
    /// the place of a pause that waits, either: it comes after it.
    ///
    /// - Parameters:
    ///   - deadline: when to give up.
    ///   - isGivenUp: whether to give up at once; asked every few milliseconds.
    /// - Returns: nil if there was no answer. A pause that was asked for stays, unless another request takes its place: a
    ///   successor of a capture process that died begins paused. Anything else is taken back, and not done later.
    public func ask(
        _ request: BridgeRequest,
        until deadline: Instant,
        orWhen isGivenUp: () -> Bool = { false }
    ) throws(BridgeError) -> BridgeAnswer? {
        let wanted = ControlFile.Record(number: .random(in: 1 ... .max), text: request.text)
        var isAsked = false
        while true {
            // Somebody may have removed it; then the capture process makes another.
            if let control = try ControlFile(in: self, O_RDONLY) {
                if let answer = control.answer(to: wanted) { return answer }
                let asked = control.read(.request)
                if asked != wanted {
                    let isPause = asked.flatMap { BridgeRequest(text: $0.text) }?.pauses ?? false
                    if isAsked, isPause, !request.pauses { return .refused("somebody has asked for a pause meanwhile") }
                    if isAsked || !request.showsAnother || !(control.waitingRequest?.pauses ?? false) {
                        try write(wanted)
                        isAsked = true
                    }
                }
            }
            var isOver = MonotonicClock.now() >= deadline || isGivenUp()
            if !isOver, try !hasWriter() { isOver = try hasEndedWell() }
            if isOver { return request.pauses ? nil : try takeBack(wanted) }
            MonotonicClock.sleep(for: .milliseconds(2))
        }
    }

    /// Takes a request back. Returns the answer if one has come all the same.
    private func takeBack(_ request: ControlFile.Record) throws(BridgeError) -> BridgeAnswer? {
        guard let control = try ControlFile(in: self, O_RDWR) else { return nil }
        if control.read(.request) == request { try? control.write("", to: .request) }
        return control.answer(to: request)
    }

    /// Writes a request into the control file. Closing that tells the capture process (inotify).
    private func write(_ request: ControlFile.Record) throws(BridgeError) {
        guard let control = try ControlFile(in: self, O_WRONLY) else { return }
        do { try control.write(request, to: .request) } catch {
            throw .writing(ControlFile.fileName, request.text.utf8.count, in: self, error)
        }
    }

    /// What is shown, in the words of the capture process that is or was here; nil where nobody has said so.
    public func shownSource() throws(BridgeError) -> String? {
        guard let control = try ControlFile(in: self, O_RDONLY) else { return nil }
        return control.read(.source)?.text
    }

    /// Takes what a shell script asks by the file `request`, if it does. Anything else of that name is removed and ignored.
    ///
    /// The file is renamed before it is read, so that a request that comes meanwhile stays for the next call. It need
    /// not be closed to others, unlike the files that Oriel writes.
    func takeRequestFile() -> BridgeRequest? {
        guard renameat(descriptor.raw, Self.requestFile, descriptor.raw, Self.takenFile) == 0 else {
            if errno != ENOENT { unlinkat(descriptor.raw, Self.requestFile, AT_REMOVEDIR) }
            return nil
        }
        defer { if !remove(Self.takenFile) { unlinkat(descriptor.raw, Self.takenFile, AT_REMOVEDIR) } }
        return readRequest(Self.takenFile)
    }

    /// The request of a shell script, which goes on waiting.
    func waitingRequestFile() -> BridgeRequest? { readRequest(Self.requestFile) }

    private func readRequest(_ name: String) -> BridgeRequest? {
        guard let file = try? descriptor.open(name, O_RDONLY | O_NONBLOCK),
            let info = try? file.status(), info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(),
            let bytes = try? file.readBytes(1024)
        else { return nil }
        return BridgeRequest(text: String(decoding: bytes, as: UTF8.self))
    }
}
