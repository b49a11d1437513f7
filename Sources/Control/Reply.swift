/// A process's reply to a command: one JSON object on one line, with one key.
package enum Reply<Status: Codable & Sendable>: Codable, Sendable {
    case done(visitor: Visitor? = nil)
    /// The reason, as a sentence without a full stop.
    case refused(reason: String)
    case status(report: Status)
}

/// A guest that a request let in, sent away or had forgotten, and that can be recognized later.
package struct Visitor: Codable, Sendable {
    /// The SHA-256, in hexadecimal digits, of a secret of its browser.
    package let key: String
    /// The name given by the guest; may be empty.
    package let name: String

    package init(key: String, name: String) { (self.key, self.name) = (key, name) }
}

package typealias SenderReply = Reply<SenderSnapshot>
package typealias SoundReply = Reply<SoundSnapshot>
