import Access
import Calls
import Control
import Media
import Pixels
import Posix
import Sender
import Synchronization
import Time

/// Commands that viewers with the right may give, and the person who shares.
extension SenderCommands {
    /// The part that all see; nil for the whole.
    var viewport: Viewport? {
        calls.sinks.view.viewport.flatMap { Viewport([$0.x, $0.y, $0.x + $0.width, $0.y + $0.height]) }
    }

    /// - Parameter viewer: nil for the person who shares.
    func perform(
        _ command: ViewerCommand,
        of viewer: ParticipantID?,
        _ completion: @escaping CommandRefusal.Completion
    ) {
        let participant = viewer.flatMap { calls.participants[$0] }
        let event = CallEvent(command, of: participant)
        let told: CommandRefusal.Completion = { [tell] refusal in
            if refusal == nil { tell(event) }
            completion(refusal)
        }
        switch command {
        case .viewport, .legibility:
            // What is told, and the status, have the order in which it is done.
            let refusal = turn.withLock { _ in
                let refusal = change(command)
                if refusal == nil { tell(event) }
                return refusal
            }
            completion(refusal)
        case .highlight(let highlight):
            if let size = screen(), !PixelRect(size).contains(PixelRect(highlight)) {
                told(CommandRefusal("outside", "the source is \(size), and \(highlight) is not in it"))
            } else {
                desktop.perform(command, of: who(participant), told)
            }
        case .service:
            if !desktop.takesMessages { ignored.withLock { $0 += 1 } }
            desktop.perform(command, of: who(participant), told)
        case .source, .message, .statusFrame, .chime: desktop.perform(command, of: who(participant), told)
        }
    }

    /// The same for a command line, which waits for it.
    func perform(_ command: ViewerCommand) -> SenderReply {
        let awaited = Awaited()
        perform(command, of: nil, awaited.set)
        guard let refusal = awaited.wait(until: MonotonicClock.now() + Self.patience) else {
            return .refused(reason: "the desktop does not answer")
        }
        return refusal.map { .refused(reason: $0.sentence) } ?? .done()
    }

    /// A command line waits for two seconds.
    private static let patience = Duration.milliseconds(1800)

    private final class Awaited: Sendable {
        private let answer = Mutex<CommandRefusal??>(nil)
        private let bell = Bell()

        func set(_ refusal: CommandRefusal?) {
            answer.withLock { $0 = .some(refusal) }
            bell.ring()
        }

        /// Nil if nothing was set by the deadline.
        func wait(until deadline: Instant) -> CommandRefusal?? {
            bell.wait(until: deadline) { answer.withLock { $0 != nil } }
            return answer.withLock(\.self)
        }
    }

    func capabilities(for rights: Rights) -> Capabilities {
        var capabilities = usual
        capabilities.may = (usual.talk == nil ? rights.subtracting(.talk) : rights).names
        capabilities.commands.viewport.source = screen().map { [$0.width, $0.height] }
        capabilities.commands.legibility.selected = calls.sinks.view.legibility.rawValue
        desktop.describe(&capabilities.commands)
        return capabilities
    }

    private func who(_ participant: Participant?) -> String {
        participant.map { "viewer \($0.id)" + ($0.name.isEmpty ? "" : " (\"\($0.name)\")") } ?? "oriel"
    }

    private func change(_ command: ViewerCommand) -> CommandRefusal? {
        switch command {
        case .viewport(let part): return show(part)
        case .legibility(let legibility):
            calls.sinks.set(legibility)
            status.note(legibility)
        default: break
        }
        return nil
    }

    private func show(_ part: Viewport?) -> CommandRefusal? {
        guard let part else {
            calls.sinks.show(nil)
            status.note(viewport: nil)
            return nil
        }
        let wanted = PixelRect(columns: part.x1..<part.x2, rows: part.y1..<part.y2)
        if let size = screen(), !PixelRect(size).contains(wanted) {
            return CommandRefusal("outside", "the source is \(size), and the part \(part) is not in it")
        }
        calls.sinks.show(wanted.expandedToEven)
        status.note(viewport: viewport?.edges)
        return nil
    }
}

extension PixelRect {
    fileprivate init(_ highlight: Highlight) {
        self.init(x: highlight.x, y: highlight.y, width: highlight.width, height: highlight.height)
    }
}
