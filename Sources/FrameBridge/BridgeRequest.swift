import Glibc
import Posix

/// What somebody asks of the capture process, through the file `request`; the last one before a tick wins.
public enum BridgeRequest: String, Sendable, CaseIterable {
    /// Show a placard and stop looking at the screen.
    case pause
    /// Keep the last picture and stop looking at the screen.
    case freeze
    case resume
    case stop
}

extension BridgeDirectory {
    private static let requestFile = "request"

    /// Leaves a request for the capture process, which takes it at its next tick.
    public func post(_ request: BridgeRequest) throws(BridgeError) {
        try replaceText(Self.requestFile, with: request.rawValue + "\n")
    }

    /// Whether a request still waits to be taken.
    public func hasRequest() -> Bool {
        faccessat(descriptor.raw, Self.requestFile, F_OK, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Takes the request that waits, if any. Text that is no request is removed and ignored.
    public func takeRequest() throws(BridgeError) -> BridgeRequest? {
        guard hasRequest() else { return nil }
        defer { remove(Self.requestFile) }
        guard let text = try readText(Self.requestFile, limit: 64) else { return nil }
        return text.split(separator: "\n").first.flatMap { BridgeRequest(rawValue: String($0)) }
    }
}
