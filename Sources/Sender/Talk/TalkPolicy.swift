/// Who of a sender's peers may speak.
package enum TalkPolicy: String, Sendable, CaseIterable {
    case off
    /// Each of whom somebody says so.
    case ask
    /// All, but those of whom somebody says otherwise.
    case on
}
