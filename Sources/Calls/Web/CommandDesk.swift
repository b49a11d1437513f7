package import Control
package import Media
import Synchronization

/// Does what viewers with the right to control ask for. Any thread may use this.
package final class CommandDesk: Sendable {
    /// Why a command is not done.
    package struct Refusal: Equatable, Sendable {
        /// For programs, such as `outside`.
        package let reason: String
        package let sentence: String

        package init(_ reason: String, _ sentence: String) { (self.reason, self.sentence) = (reason, sentence) }
    }

    /// Does a command of a viewer. Returns nil if it is done.
    package typealias Perform = @Sendable (ViewCommand, ParticipantID) -> Refusal?

    private let perform = Mutex<Perform?>(nil)

    package init() {}

    package func begin(_ perform: @escaping Perform) { self.perform.withLock { $0 = perform } }

    func perform(_ command: ViewCommand, of viewer: ParticipantID) -> Refusal? {
        guard let perform = perform.withLock(\.self) else { return Refusal("starting", "the broadcast is starting") }
        return perform(command, viewer)
    }
}
