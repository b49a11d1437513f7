import FrameBridge
import Pixels
import Time
import X11Capture

extension CaptureEngine {
    /// What came of an attempt to connect to the X server.
    enum Connection {
        /// - `warning`: a sentence if grabbing will be slow.
        case made(CaptureSchedule, warning: String?)
        /// - `isForGood`: the source is a window that was destroyed.
        case failed(reason: String, isForGood: Bool)
    }

    /// What happened.
    enum Event {
        /// A signal asks to end.
        case signalled
        /// A turn begins; `isCalled` if something happened in the broadcast's folder.
        case woke(isCalled: Bool)
        /// The actions since `woke` are done: it is the screen's turn.
        case served

        /// Of `beat`: whether the frames file is in its place, and whether anybody reads.
        case beaten(hasFile: Bool, isWatched: Bool)
        /// Of `takeRequest`.
        case asked(BridgeRequest?)
        /// Of `connect`.
        case connected(Connection)
        /// Of `drain`.
        case told(XEvents, mayLook: Bool)
        /// Of `look`, which began at that instant.
        case looked(CaptureSchedule.Look, from: Instant, XSession.Sight)
        /// Of `look`: the connection is good, and the source is not there.
        case sourceAbsent(CaptureSchedule.Look, from: Instant, reason: String)
        /// Of `drain` and `look`: the connection is closed.
        case serverLost(String)
        /// Of `publish`.
        case published
        case notPublished(BridgeError)
        /// Of `cover`.
        case covered(isAsked: Bool)
        /// - `isHidden`: there is no frame of this process, so that the horizon alone hides those of the one before.
        case notCovered(reason: String, isHidden: Bool, isAsked: Bool)
        /// Of `open`.
        case opened
        case notOpened(String)
        /// Of `adopt` and `replace`.
        case adopted(CaptureSchedule, warning: String?)
        /// Of `replace`: the source before is as it was.
        case notReplaced(String)
    }

    /// What to do.
    enum Action: Equatable {
        enum Cover: Equatable {
            case placard
            /// A placard too where there is no picture.
            case lastPicture
        }

        /// Tell the readers that the writer lives.
        case beat
        case takeRequest
        /// Answer the request that was taken last.
        case answer(BridgeAnswer)
        case setState(BroadcastState, reason: String)
        case tell(CaptureNote)
        case reportStatistics
        /// Connect to the X server. What comes next begins a new generation.
        case connect
        /// Read what the X server told; `thenLook` comes back as `mayLook`.
        case drain(thenLook: Bool)
        case look(CaptureSchedule.Look)
        /// Publish what was seen.
        case publish(replacingAll: Bool)
        /// Draw the next picture as a whole.
        case forgetPublished
        /// Put a picture without news of the screen into all slots, and forbid what was captured before it. `isAsked` comes back.
        case cover(Cover, isAsked: Bool)
        /// Forbid what was captured until now.
        case hidePast
        /// Find another source beside the present one, and look at it if `looking`. Its name in words.
        case open(String, looking: Bool)
        /// Have the opened source in the place of the present one, also for a successor.
        case adopt
        /// The same, and before that have its picture in the place of all that were published; or nothing of it.
        case replace
    }
}

/// What a person is told.
enum CaptureNote: Equatable {
    case stillPaused
    case paused
    case resumed
    /// A sentence of its own: grabbing will be slow, or a cover cannot be written.
    case problem(String)
    case fileLost
    case notWritten(String)
    case writable
    case missedDamage
    case sourceLost(String)
    case sourceBack
    case sourceGone
    case sourceChanged
    case sourceRefused(String)

    /// One sentence.
    ///
    /// - Parameters:
    ///   - source: what is shown.
    ///   - region: where it lies, if it is there.
    func sentence(source: CaptureSource, region: PixelRect?) -> String {
        let place = region.map { "\($0)" } ?? "elsewhere"
        return switch self {
        case .stillPaused: "still paused, as the process before was: go on with \"oriel resume\""
        case .paused: "paused: nothing of the screen leaves this process"
        case .resumed: "resumed"
        case .problem(let sentence): sentence
        case .fileLost: "the frames file was removed or shrunk: making a new one"
        case .notWritten(let reason): "\(reason); the last picture stays while I try on"
        case .writable: "pictures can be written again"
        case .missedDamage:
            "the X server does not tell of all that is drawn: while it is so, I look at the whole screen"
        case .sourceLost(let reason): "\(reason); the last picture stays while I look for it"
        case .sourceBack: "\(source) is back: \(place)"
        case .sourceGone: "\(source) is gone for good: choose what to show with \"oriel source\""
        case .sourceChanged: "sharing \(source) (\(place)) now"
        case .sourceRefused(let reason): "\(reason); \(source) is shown as before"
        }
    }
}
