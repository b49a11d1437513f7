import Calls
import Control
import Media
import Pixels
import Sender

/// Commands about what all see.
extension SenderCommands {
    /// The part that all see; nil for the whole.
    var viewport: Viewport? {
        calls.sinks.viewport.current.flatMap { Viewport([$0.x, $0.y, $0.x + $0.width, $0.y + $0.height]) }
    }

    /// - Parameter viewer: nil for the person who shares.
    /// - Returns: nil if it is done.
    func perform(_ command: ViewCommand, of viewer: ParticipantID?) -> CommandDesk.Refusal? {
        switch command {
        case .viewport(let part): if let refusal = show(part) { return refusal }
        }
        tell(CallEvent(command, of: viewer.flatMap { calls.participants[$0] }))
        return nil
    }

    private func show(_ part: Viewport?) -> CommandDesk.Refusal? {
        guard let part else {
            calls.sinks.show(nil)
            status.note(viewport: nil)
            return nil
        }
        let wanted = PixelRect(columns: part.x1..<part.x2, rows: part.y1..<part.y2)
        if let size = screen(), !PixelRect(size).contains(wanted) {
            return CommandDesk.Refusal("outside", "the source is \(size), and the part \(part) is not in it")
        }
        calls.sinks.show(wanted.expandedToEven)
        status.note(viewport: viewport?.edges)
        return nil
    }
}
