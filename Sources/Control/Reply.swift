/// What a process replies to a command: one JSON object on one line, with one key.
package enum Reply<Status: Codable & Sendable>: Codable, Sendable {
    case done(visitor: Visitor? = nil)
    /// The request was refused: the reason, as a sentence without a full stop.
    case refused(reason: String)
    case status(report: Status)
}

/// Somebody whom a request let in, sent away or had forgotten, and who can be known again.
package struct Visitor: Codable, Sendable {
    /// The SHA-256, in hexadecimal digits, of a secret that its browser keeps.
    package let key: String
    /// What it said of itself; may be empty.
    package let name: String

    package init(key: String, name: String) { (self.key, self.name) = (key, name) }
}

package typealias SenderReply = Reply<SenderSnapshot>
package typealias SoundReply = Reply<SoundSnapshot>
