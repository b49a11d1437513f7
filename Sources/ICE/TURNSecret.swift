import Synchronization

/// A secret that TURN servers share with this machine (draft-uberti-behave-turn-rest-00). Any thread may renew it while
/// others make logins from it. It equals itself alone.
package final class TURNSecret: Equatable, Sendable {
    private let text: Mutex<String>

    package init(_ text: String) { self.text = Mutex(text) }

    package var current: String { text.withLock(\.self) }

    /// Sets the text for all later logins.
    package func renew(_ text: String) { self.text.withLock { $0 = text } }

    package static func == (one: TURNSecret, other: TURNSecret) -> Bool { one === other }
}
