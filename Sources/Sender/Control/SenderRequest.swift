package import Media

/// What a command asks of a running sender: one JSON object on one line, such as `{"kick":{"viewer":3}}`.
package enum SenderRequest: Codable, Sendable, Equatable {
    case status
    /// Sends away the viewer of this number.
    case kick(viewer: ParticipantID)
    /// Lets the viewer of this number speak, or no more.
    case talk(viewer: ParticipantID, isOn: Bool)
    /// Lets in who knocks with this number.
    case accept(knock: Int)
    /// Sends away who knocks with this number.
    case reject(knock: Int)
    /// Has those of a name ask again who were let in; nil for all.
    case forget(name: String?)
    /// From now on, renditions have this target of rate control, in bits a second.
    case setBitrate(bitrateBps: Int)
    /// Begins a call.
    case add(call: Addition)
    /// Leaves a call, by its name.
    case leave(call: String)

    /// A call that is to begin, with what it needs. Secrets go this way, as everybody on the machine can read a command line.
    package struct Addition: Codable, Sendable, Equatable {
        /// As the command line names it.
        package var name: String
        package var whipToken: String?
        package var janusSecret: String?
        package var janusToken: String?
        package var janusPin: String?
        /// Where plain RTP comes from; absent for any.
        package var localPort: UInt16?

        package init(
            name: String,
            whipToken: String? = nil,
            janusSecret: String? = nil,
            janusToken: String? = nil,
            janusPin: String? = nil,
            localPort: UInt16? = nil
        ) {
            (self.name, self.whipToken, self.localPort) = (name, whipToken, localPort)
            (self.janusSecret, self.janusToken, self.janusPin) = (janusSecret, janusToken, janusPin)
        }
    }
}

/// What a sender replies: one JSON object on one line, with one key.
package enum SenderReply: Codable, Sendable {
    /// Somebody whom the request let in, sent away or had forgotten, and who can be known again.
    package struct Visitor: Codable, Sendable {
        /// The SHA-256, in hexadecimal digits, of a secret that its browser keeps.
        package let key: String
        /// What it said of itself; may be empty.
        package let name: String

        package init(key: String, name: String) { (self.key, self.name) = (key, name) }
    }

    case done(visitor: Visitor? = nil)
    /// The request was refused: the reason, as a sentence without a full stop.
    case refused(reason: String)
    case status(report: SenderStatus)
}
