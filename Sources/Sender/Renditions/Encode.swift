import FrameBridge
import Media
import Pixels
import Posix
import Synchronization
import VideoEncoding

/// A rendition with a thread and a reader of its own. It shares only the sinks with other renditions. So an encoder
/// that is slow, stalls or fails takes no frame from the others.
final class Encode: Sendable {
    struct Progress: Sendable {
        var statistics = SenderStatistics()
        var reading = Reading.notYet
        /// The encoder's error, after which the encode has ended by itself.
        var failure: VideoEncoderError?
        var hasEnded = false
    }

    /// The outcome of the latest attempt to read the bridge.
    enum Reading: Sendable, Equatable {
        case notYet
        case works
        case fails(BridgeError)
    }

    let rendition: Rendition
    private let state = Mutex(Progress())
    private let isStopping = Atomic(false)
    private let isGiving = Atomic(false)

    /// Starts the thread.
    ///
    /// - Parameters:
    ///   - reader: from now on only for the thread.
    ///   - sinks: get the frames. Their bell is rung when the progress has news.
    init(
        _ rendition: Rendition,
        _ settings: SenderSettings,
        reader: consuming sending FrameReader,
        sinks: Sinks,
        preference: SharedPreference
    ) throws(SystemError) {
        self.rendition = rendition
        let passed = Mutex<FrameReader?>(reader)
        // The thread is not joined: a stall in the encoder's library would hold up the sender.
        _ = try Thread { [self] in
            let reader = passed.withLock { $0.take()! }
            let loop = EncodeLoop(rendition, settings, reader: reader, sinks: sinks, preference: preference)
            do throws(VideoEncoderError) { try loop.run(for: self) } catch {
                state.withLock { $0.failure = error }
            }
            state.withLock { $0.hasEnded = true }
            sinks.bell.ring()
        }
    }

    var progress: Progress { state.withLock { $0 } }

    /// Ends the thread after the present frame. Ring the sinks' bell then: the thread may sleep.
    func stop() { isStopping.store(true, ordering: .sequentiallyConsistent) }

    /// Whether the sinks get no more frames, even from an encoder that stalls and continues later.
    var isCutOff: Bool { mustStop && !isGiving.load(ordering: .sequentiallyConsistent) }

    // MARK: - The thread's side

    var mustStop: Bool { isStopping.load(ordering: .sequentiallyConsistent) }

    /// Lets a frame be given to the sinks, unless the encode is to stop.
    func give(_ frame: () -> Void) {
        // Stored before `mustStop` is read. So the thread that stops this encode sees either the frame on its way, or
        // none.
        isGiving.store(true, ordering: .sequentiallyConsistent)
        if !mustStop { frame() }
        isGiving.store(false, ordering: .sequentiallyConsistent)
    }

    /// - Returns: whether the outcome of reading has changed.
    func note(_ statistics: SenderStatistics, _ reading: Reading) -> Bool {
        state.withLock { state in
            defer { (state.statistics, state.reading) = (statistics, reading) }
            return state.reading != reading
        }
    }
}
