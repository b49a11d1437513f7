package import Posix
package import Time

/// The voices of the peers of all senders of a broadcast: a reader for each live sender.
package struct TalkReaders: ~Copyable {
    private final class Talk {
        let sender: Int32
        var reader: SoundReader

        init(_ folder: ProcessFolder) {
            sender = folder.pid
            reader = SoundReader(talkOf: folder)
        }
    }

    private let broadcast: BridgeDirectory
    private var talks: [Talk] = []

    /// Attaches to a broadcast folder, and looks for senders.
    package init(in broadcast: BridgeDirectory) {
        self.broadcast = broadcast
        look()
    }

    /// The senders that are read, by their process numbers.
    package var senders: [Int32] { talks.map(\.sender) }

    /// Whether the peers of a sender may speak, now or later: whether it writes voices.
    package var isAnyThere: Bool { talks.contains { $0.reader.words.map { !$0.isEmpty } ?? true } }

    /// Finds new senders, and drops those that have ended. Their last unread blocks are lost.
    package mutating func look() {
        let folders = ProcessFolder.all(.sender, in: broadcast)
        talks.removeAll { talk in !folders.contains { $0.pid == talk.sender } }
        for folder in folders where !senders.contains(folder.pid) { talks.append(Talk(folder)) }
    }

    /// Reads the voices of one sender's peers, as `SoundReader.read` does; `none` for an unknown number.
    package mutating func read(
        of sender: Int32,
        _ body: (SoundBlock, Span<Int16>) -> Void
    ) throws(BridgeError) -> SoundReader.Outcome {
        guard let talk = talks.first(where: { $0.sender == sender }) else { return .none }
        return try talk.reader.read(body)
    }

    /// Sleeps until a sender has a further block, and only while `bell` was rung `count` times; at the longest until
    /// `deadline`. May return early, and does so after a second.
    package borrowing func wait(until deadline: Instant, or bell: Bell, while count: UInt32) {
        var words: [WakeWord] = []
        for talk in talks {
            guard let found = talk.reader.words else { return }
            words += found
        }
        bell.wait(while: count, or: words, until: min(deadline, MonotonicClock.now() + FrameReader.longestWait))
    }
}
