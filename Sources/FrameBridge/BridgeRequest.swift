import Glibc
import Posix

/// What somebody asks of the capture process, through the file `request`; the last one before a tick wins.
public enum BridgeRequest: String, Sendable, CaseIterable {
    /// Show a placard and stop looking at the screen.
    case pause
    /// Keep the last picture and stop looking at the screen.
    case freeze
    /// Look at the screen again.
    case resume
    /// End the broadcast.
    case stop
}

extension BridgeDirectory {
    private static let requestFile = "request"
    private static let takenFile = ".request.taken"

    /// Leaves a request for the capture process, which takes it at its next tick.
    public func post(_ request: BridgeRequest) throws(BridgeError) {
        try replaceText(Self.requestFile, with: request.rawValue + "\n")
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
            let bytes = try? file.readBytes(64)
        else { return nil }
        let text = String(decoding: bytes, as: UTF8.self)
        return text.split(whereSeparator: \.isWhitespace).first.flatMap { BridgeRequest(rawValue: String($0)) }
    }
}
