import Glibc
import Posix
public import Time

/// A command's request to the capture process. If several come before a tick, the last one counts.
public enum BridgeRequest: Sendable, Equatable {
    /// Show a slate, and stop capturing the screen.
    case pause
    /// Keep the last picture, and stop capturing the screen.
    case freeze
    /// Capture the screen again.
    case resume
    /// End the broadcast.
    case stop
    /// Show another source, named in the words of the capture process: one line.
    case show(String)

    /// Whether it stops capturing the screen.
    var pauses: Bool { self == .pause || self == .freeze }

    /// The line of the request in the control file.
    var text: String {
        switch self {
        case .pause: "pause"
        case .freeze: "freeze"
        case .resume: "resume"
        case .stop: "stop"
        case .show(let source): "show \(source)"
        }
    }

    /// Nil for any other text.
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
    /// The request as a verb, for people.
    public var description: String { self == .freeze ? "pause" : text }
}

/// The capture process's answer to a request.
public enum BridgeAnswer: Sendable, Equatable {
    /// The request is done, and a pause outlives the capture process.
    case granted
    /// Nothing has changed. The reason is a sentence for a person.
    case refused(String)
}

extension BridgeDirectory {
    private static let requestFile = "request"
    private static let takenFile = ".request.taken"

    /// Sends a request to the capture process, and waits for its answer. Takes no room in the file system.
    ///
    /// Another process may ask meanwhile. Then this request is repeated, but it does not replace a waiting pause.
    /// Neither does a request for another source: it follows the pause.
    ///
    /// - Parameters:
    ///   - deadline: when to give up.
    ///   - isGivenUp: whether to give up at once; asked every few milliseconds.
    /// - Returns: nil if there was no answer. A request to pause stays, unless another request replaces it: the
    ///   successor of a capture process that died begins paused. Any other request is taken back, and not done later.
    public func ask(
        _ request: BridgeRequest,
        until deadline: Instant,
        orWhen isGivenUp: () -> Bool = { false }
    ) throws(BridgeError) -> BridgeAnswer? {
        let wanted = ControlFile.Record(number: .random(in: 1 ... .max), text: request.text)
        var isAsked = false
        while true {
            // If the file was removed, the capture process makes another.
            if let control = try ControlFile(in: self, O_RDONLY) {
                if let answer = control.answer(to: wanted) { return answer }
                let asked = control.read(.request)
                if asked != wanted {
                    let isPause = asked.flatMap { BridgeRequest(text: $0.text) }?.pauses ?? false
                    if isAsked, isPause, !request.pauses { return .refused("somebody has asked for a pause meanwhile") }
                    let isShow = if case .show = request { true } else { false }
                    if isAsked || !isShow || !(control.waitingRequest?.pauses ?? false) {
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

    /// Takes a request back. Returns the answer if one has come meanwhile.
    private func takeBack(_ request: ControlFile.Record) throws(BridgeError) -> BridgeAnswer? {
        guard let control = try ControlFile(in: self, O_RDWR) else { return nil }
        if control.read(.request) == request { try? control.write("", to: .request) }
        return control.answer(to: request)
    }

    /// Writes a request into the control file. Closing the file notifies the capture process (inotify).
    private func write(_ request: ControlFile.Record) throws(BridgeError) {
        guard let control = try ControlFile(in: self, O_WRONLY) else { return }
        do { try control.write(request, to: .request) } catch {
            throw .writing(ControlFile.fileName, request.text.utf8.count, in: self, error)
        }
    }

    /// The source, in the words of the present or last capture process; nil if there are none.
    public func shownSource() throws(BridgeError) -> String? {
        guard let control = try ControlFile(in: self, O_RDONLY) else { return nil }
        return control.read(.source)?.text
    }

    /// Takes the request of a shell script, the file `request`, if there is one. Any other entry of that name is
    /// removed and ignored.
    ///
    /// The file is renamed before it is read, so that a request that comes meanwhile stays for the next call. Unlike
    /// the files that Oriel writes, it may be open to other users.
    func takeRequestFile() -> BridgeRequest? {
        guard renameat(descriptor.raw, Self.requestFile, descriptor.raw, Self.takenFile) == 0 else {
            if errno != ENOENT { unlinkat(descriptor.raw, Self.requestFile, AT_REMOVEDIR) }
            return nil
        }
        defer { if !remove(Self.takenFile) { unlinkat(descriptor.raw, Self.takenFile, AT_REMOVEDIR) } }
        return readRequest(Self.takenFile)
    }

    /// The request of a shell script, which stays in place.
    func waitingRequestFile() -> BridgeRequest? { readRequest(Self.requestFile) }

    private func readRequest(_ name: String) -> BridgeRequest? {
        guard let file = try? descriptor.open(name, O_RDONLY | O_NONBLOCK),
            let info = try? file.status(), info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(),
            let bytes = try? file.readBytes(1024)
        else { return nil }
        return BridgeRequest(text: String(decoding: bytes, as: UTF8.self))
    }
}
