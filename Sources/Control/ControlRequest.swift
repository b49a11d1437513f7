/// A command for a process: one JSON object on one line.
package protocol ControlRequest: Codable, Sendable {
    /// Bytes of the longest request.
    static var limit: Int { get }
    /// How long the answer of a process may take.
    var patience: Duration { get }
}

extension ControlRequest {
    package var patience: Duration { .seconds(2) }
}
