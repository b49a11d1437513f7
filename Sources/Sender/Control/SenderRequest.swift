/// What a command asks of a running sender: one JSON object on one line, such as `{"kick":{"viewer":3}}`.
package enum SenderRequest: Codable, Sendable, Equatable {
    case status
    /// Sends away the viewer of this number.
    case kick(viewer: Int)
    /// Lets in who knocks with this number.
    case accept(knock: Int)
    /// Sends away who knocks with this number.
    case reject(knock: Int)
    /// From now on, renditions have this target of rate control, in bits a second.
    case setBitrate(bitrateBps: Int)
}

/// What a sender replies: one JSON object on one line, with one key.
package enum SenderReply: Codable, Sendable {
    case done
    /// The request was refused: the reason, as a sentence without a full stop.
    case refused(reason: String)
    case status(report: SenderStatus)
}
