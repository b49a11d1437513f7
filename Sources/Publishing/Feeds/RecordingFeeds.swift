import Calls
import Control
import FrameBridge
import Helpers
import Media
import Posix
import Sender
import Synchronization

/// The recorders that have subscribed to this sender. Any thread may use this. Close it once.
final class RecordingFeeds: Sendable {
    private struct Member {
        let feed: RecordingFeed
        /// At the desk; nil before it is there.
        var number: Int?
    }

    private struct State {
        var members: [Member] = []
        /// The number of the feeds that there were.
        var count = 0
        var isClosed = false
    }

    private let media: SentMedia
    private let sinks: Sinks
    private let desk: RecorderDesk
    private let reader: @Sendable () throws -> FrameReader
    private let recordersChanged: @Sendable () -> Void
    private let told: @Sendable (Bool) -> Void
    private let state = Mutex(State())
    private let isRecorded = Mutex(false)

    /// - Parameters:
    ///   - desk: gets the recorders, for viewers.
    ///   - recordersChanged: called when a recorder has come or gone.
    ///   - told: gets whether a recorder keeps what is shown, when that may have changed.
    ///   - reader: makes a further reader of the broadcast.
    init(
        _ media: SentMedia,
        sinks: Sinks,
        at desk: RecorderDesk,
        recordersChanged: @escaping @Sendable () -> Void,
        tell told: @escaping @Sendable (Bool) -> Void,
        reader: @escaping @Sendable () throws -> FrameReader
    ) {
        (self.media, self.sinks, self.desk, self.told, self.reader) = (media, sinks, desk, told, reader)
        self.recordersChanged = recordersChanged
    }

    /// Whether there was a recorder, and all have gone.
    var areOver: Bool { state.withLock { $0.count > 0 && $0.members.isEmpty } }

    /// Takes the connection of a recorder that subscribes; nil for any other request.
    @Sendable func taker(_ request: SenderRequest) -> ((consuming sending FileDescriptor) -> Void)? {
        guard request == .subscribe else { return nil }
        return { socket in
            do { try self.begin(to: socket) } catch { Console.note("a recorder gets nothing: \(error)") }
        }
    }

    /// Sends to a recorder from now on, until it goes.
    private func begin(to socket: consuming sending FileDescriptor) throws {
        let sinks = sinks
        let feed = try RecordingFeed(to: socket, media, of: try reader()) { [weak self] rendition in
            self?.isUsed(rendition) ?? false
        } changed: { [weak self] in
            self?.tell()
        } ended: { [weak self] feed in
            sinks.remove(feed)
            self?.remove(feed)
            sinks.bell.ring()
        }
        let isClosed = state.withLock { state in
            state.members.append(Member(feed: feed))
            state.count += 1
            return state.isClosed
        }
        sinks.add(feed)
        do { try feed.begin() } catch {
            sinks.remove(feed)
            remove(feed)
            throw error
        }
        present(feed)
        tell()
        if isClosed { feed.close() }
    }

    /// Puts a feed on the desk, unless it has ended already.
    private func present(_ feed: RecordingFeed) {
        let number = desk.add { [weak feed] request, completion in
            if let feed { feed.ask(request, completion) } else { completion(nil) }
        }
        guard let number else { return }
        let isThere = state.withLock { state in
            guard let index = state.members.firstIndex(where: { $0.feed === feed }) else { return false }
            state.members[index].number = number
            return true
        }
        if !isThere { desk.remove(number) }
        recordersChanged()
    }

    private func remove(_ feed: RecordingFeed) {
        let numbers = state.withLock { state in
            defer { state.members.removeAll { $0.feed === feed } }
            return state.members.filter { $0.feed === feed }.compactMap(\.number)
        }
        for number in numbers { desk.remove(number) }
        recordersChanged()
        tell()
    }

    /// Whether others than recorders want a rendition.
    private func isUsed(_ rendition: Rendition.ID) -> Bool {
        sinks.isWanted(rendition) { !($0 is RecordingFeed) }
    }

    private func tell() {
        // Two threads must not tell in the wrong order.
        isRecorded.withLock { isRecorded in
            let isNow = state.withLock(\.members).contains(where: \.feed.isOn)
            if isNow != isRecorded { told(isNow) }
            isRecorded = isNow
        }
    }

    /// The broadcast's condition has changed.
    func look() { for member in state.withLock(\.members) { member.feed.look() } }

    func close() {
        let members = state.withLock { state in
            state.isClosed = true
            return state.members
        }
        for member in members { member.feed.close() }
    }
}
