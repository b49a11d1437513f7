import Control
import Time

/// The messages that wait until a recorder reads them. Sans-IO.
///
/// A recorder that is too slow loses pictures up to the next keyframe, and is told how many. It loses nothing else.
struct FeedQueue {
    /// Bytes that may wait: half a minute at the usual bitrate.
    static let mostBytes = 8 << 20

    /// Whole messages, but for the part of the first that has been sent.
    private var messages: [[UInt8]] = []
    private var sent = 0
    private(set) var byteCount = 0
    /// The pictures that were not taken since the last one that was.
    private var dropped = 0

    var isEmpty: Bool { messages.isEmpty }

    /// Whether there is room for pictures again after some were dropped. The next one must be a keyframe.
    var needsKeyframe: Bool { dropped > 0 && byteCount < Self.mostBytes / 2 }

    /// - Returns: whether the message was taken. A picture may not be.
    @discardableResult
    mutating func append(_ message: FeedMessage) -> Bool {
        if case .picture(let picture, _) = message {
            let isFull = byteCount > Self.mostBytes || dropped > 0 && !(needsKeyframe && picture.isKeyframe)
            if isFull {
                dropped += 1
                return false
            }
            if dropped > 0 { push(.dropped(dropped)) }
            dropped = 0
        } else if byteCount > Self.mostBytes {
            switch message {
            case .sound, .changed: return false
            case .begin, .picture, .horizon, .paused, .dropped, .question: break
            }
        }
        push(message)
        return true
    }

    private mutating func push(_ message: FeedMessage) {
        let bytes = message.head + message.content
        messages.append(bytes)
        byteCount += bytes.count
    }

    /// Sends as much as is taken.
    ///
    /// - Parameter send: returns how many bytes of a message were taken; 0 if there is no room for more.
    mutating func drain(_ send: (ArraySlice<UInt8>) throws -> Int) rethrows {
        var done = 0
        defer { messages.removeFirst(done) }
        while done < messages.count {
            let count = try send(messages[done][sent...])
            if count == 0 { return }
            byteCount -= count
            sent += count
            guard sent == messages[done].count else { continue }
            done += 1
            sent = 0
        }
    }
}
