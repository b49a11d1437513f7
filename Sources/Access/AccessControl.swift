import Synchronization

/// The access control of a sender: each door asks here. Any thread may ask.
package final class AccessControl: Sendable {
    private let gate: Mutex<Gate>
    /// Whether viewers need a link with a token.
    package let needsToken: Bool

    /// - Parameters:
    ///   - token: nil lets everybody in.
    ///   - viewerLimit: the most viewers.
    package init(token: String? = nil, viewerLimit: Int = 50) {
        gate = Mutex(Gate(token: token, viewerLimit: viewerLimit))
        needsToken = token != nil
    }

    /// Asks about what strangers can drive. The lock is taken for that alone, so that they keep nobody else waiting.
    package func atGate<Result: Sendable>(_ body: (inout Gate) -> Result) -> Result {
        gate.withLock { body(&$0) }
    }
}
