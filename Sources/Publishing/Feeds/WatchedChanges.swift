import FrameBridge
import Media
import Sender

/// The changes of a broadcast's picture, and its pauses, for a call that pushes clips. For one thread.
struct WatchedChanges: ~Copyable {
    private var pauses: BroadcastPauses
    private var changes: ChangeReader

    init(of reader: consuming FrameReader) throws {
        pauses = BroadcastPauses(of: try reader.another())
        changes = ChangeReader(of: reader)
    }

    mutating func take() -> PictureChange? {
        pauses.look(isThorough: false)
        let change = changes.take()
        if pauses.isPaused { return .paused }
        return change.map { .tiles($0.0, at: $0.at) }
    }
}
