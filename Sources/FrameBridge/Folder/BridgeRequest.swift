import Glibc
import Posix

/// What somebody asks of the capture process, through the file `request`; the last one before a tick wins.
public enum BridgeRequest: Sendable, Equatable {
    /// Show a placard and stop looking at the screen.
    case pause
    /// Keep the last picture and stop looking at the screen.
    case freeze
    /// Look at the screen again.
    case resume
    /// End the broadcast.
    case stop
    /// Show something else, named in the words of the capture process: one line.
    case show(String)

    /// The words of the file.
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

extension BridgeDirectory {
    private static let requestFile = "request"
    private static let takenFile = ".request.taken"

    /// Leaves a request for the capture process, which takes it at its next tick.
    public func post(_ request: BridgeRequest) throws(BridgeError) {
        try replaceText(Self.requestFile, with: request.text + "\n")
    }

    /// Whether a request still waits to be taken.
    public func hasRequest() -> Bool {
        faccessat(descriptor.raw, Self.requestFile, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Takes the request that waits, if any. Anything else of that name is removed and ignored.
    ///
    /// The file is renamed before it is read, so that a request that comes meanwhile stays for the next call. It need
    /// not be closed to others, unlike the files that Oriel writes: a shell script may have made it.
    public func takeRequest() -> BridgeRequest? {
        guard renameat(descriptor.raw, Self.requestFile, descriptor.raw, Self.takenFile) == 0 else {
            if errno != ENOENT { unlinkat(descriptor.raw, Self.requestFile, AT_REMOVEDIR) }
            return nil
        }
        defer { if !remove(Self.takenFile) { unlinkat(descriptor.raw, Self.takenFile, AT_REMOVEDIR) } }
        guard let file = try? descriptor.open(Self.takenFile, O_RDONLY | O_NONBLOCK),
            let info = try? file.status(), info.st_mode & S_IFMT == S_IFREG, info.st_uid == geteuid(),
            let bytes = try? file.readBytes(1024)
        else { return nil }
        return BridgeRequest(text: String(decoding: bytes, as: UTF8.self))
    }
}
