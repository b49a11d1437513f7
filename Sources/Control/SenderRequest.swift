package import Media

/// A command for a running sender: one JSON object on one line, such as `{"kick":{"viewer":3}}`.
package enum SenderRequest: ControlRequest, Equatable {
    /// A call may need secrets of up to 16 KiB each.
    package static let limit = 65_536

    case status
    case kick(viewer: ParticipantID)
    case talk(viewer: ParticipantID, isOn: Bool)
    case accept(knock: Int)
    case reject(knock: Int)
    /// Removes the guests of a name; nil for all. They have to knock the next time.
    case forget(name: String?)
    /// A link with rights of its own.
    ///
    /// - Parameters:
    ///   - token: the SHA-256 of its token, in hexadecimal digits.
    ///   - name: for its participants; may be empty.
    ///   - rights: such as `watch`.
    ///   - seconds: how long it holds; nil for as long as the sender is there.
    ///   - isForOne: whether the first one who comes by it has it alone.
    case invite(token: String, name: String, rights: [String], seconds: Int?, isForOne: Bool)
    /// Ends invitations, and the views of those who came by them.
    ///
    /// - Parameter invite: the number of one, or a name; nil for all.
    case revoke(invite: String?)
    /// Changes what all see, by the person who shares.
    case command(ViewerCommand)
    case setBitrate(bitrateBps: Int)
    /// A new call in the words of the command line, with the settings of its kind by names such as `whipToken`. Secrets go this way, as
    /// everybody on the machine can read a command line.
    case add(call: String, settings: [String: String])
    case leave(call: String)
    /// From now on, `FeedMessage`s come over the connection, in place of a reply.
    case subscribe
}
