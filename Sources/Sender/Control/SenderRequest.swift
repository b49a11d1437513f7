/// What a command asks of a running sender: one JSON object on one line, such as `{"kick":{"viewer":3}}`.
package enum SenderRequest: Codable, Sendable, Equatable {
    case status
    /// Sends a viewer away, by its number.
    case kick(viewer: Int)
    /// From now on, renditions have this target of rate control, in bits a second.
    case setBitrate(Int)
}

/// What a sender answers: one JSON object on one line, with one key.
package enum SenderAnswer: Codable, Sendable {
    case done
    /// Why not, as a sentence without a full stop.
    case refused(String)
    case status(SenderStatus)
}
