package import Access
package import Control
package import Media
import Synchronization

/// Does what viewers with the right to control ask for, and tells what can be done. Any thread may use this.
package final class CommandDesk: Sendable {
    /// Does a command of a viewer.
    package typealias Perform = @Sendable (ViewerCommand, ParticipantID, @escaping CommandRefusal.Completion) -> Void
    /// Tells what can be done by somebody with some rights.
    package typealias Describe = @Sendable (Rights) -> Capabilities

    private let work = Mutex<(perform: Perform, describe: Describe)?>(nil)

    package init() {}

    package func begin(_ perform: @escaping Perform, describe: @escaping Describe = { _ in Capabilities() }) {
        work.withLock { $0 = (perform, describe) }
    }

    func perform(_ command: ViewerCommand, of viewer: ParticipantID, _ completion: @escaping CommandRefusal.Completion)
    {
        guard let work = work.withLock(\.self) else {
            return completion(CommandRefusal("starting", "the broadcast is starting"))
        }
        work.perform(command, viewer, completion)
    }

    /// Nil while the broadcast starts.
    func capabilities(for rights: Rights) -> Capabilities? { work.withLock(\.self)?.describe(rights) }
}
