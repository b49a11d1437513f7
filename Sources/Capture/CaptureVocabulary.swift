import FrameBridge
import Pixels
import Time
import X11Capture

extension CaptureEngine {
    /// The outcome of an attempt to connect to the X server.
    enum Connection {
        /// - `warning`: a sentence if grabbing will be slow.
        case made(CaptureSchedule, warning: String?)
        /// - `isForGood`: the source is a window that was destroyed.
        case failed(reason: String, isForGood: Bool)
    }

    enum Event {
        /// A signal asks to end.
        case signalled
        /// A turn begins. `isCalled`: there was an event in the broadcast's folder.
        case woke(isCalled: Bool)
        /// The actions since `woke` are done, and the screen is next.
        case served

        /// After `beat`: whether the frames file is in its place, and whether there are readers.
        case beaten(hasFile: Bool, isWatched: Bool)
        /// After `takeRequest`.
        case asked(BridgeRequest?)
        /// After `connect`.
        case connected(Connection)
        /// After `drain`.
        case told(XEvents, mayLook: Bool)
        /// After `look`, which began at that instant.
        case looked(CaptureSchedule.Look, from: Instant, XSession.Sight)
        /// After `look`: the connection is good, and the source is not there.
        case sourceAbsent(CaptureSchedule.Look, from: Instant, reason: String)
        /// After `drain` or `look`: the connection is closed.
        case serverLost(String)
        /// After `publish`.
        case published
        case notPublished(BridgeError)
        /// After `cover`.
        case covered(isAsked: Bool)
        /// After `cover` failed. `isHidden`: this process has no frame, and the horizon hides those of the one before.
        case notCovered(reason: String, isHidden: Bool, isAsked: Bool)
        /// After `adopt`.
        case adopted(CaptureSchedule, warning: String?)
        /// After `adopt` failed before it changed anything.
        case notOpened(String)
        /// After `adopt(publishing: true)` failed: the former source stays.
        case notReplaced(String)
    }

    enum Action: Equatable {
        enum Cover: Equatable {
            case slate
            /// A slate if there is no picture.
            case lastPicture
        }

        /// Store a heartbeat for the readers.
        case beat
        case takeRequest
        /// Answer the request that was taken last.
        case answer(BridgeAnswer)
        case setState(BroadcastState, reason: String)
        case tell(CaptureNote)
        case reportStatistics
        /// Connect to the X server. The next picture begins a new generation.
        case connect
        /// Read the events of the X server. The event `told` has `thenLook` as its `mayLook`.
        case drain(thenLook: Bool)
        case look(CaptureSchedule.Look)
        case publish(replacingAll: Bool)
        /// Draw the next picture as a whole.
        case forgetPublished
        /// Put a picture without new pixels of the screen into all slots, and forbid earlier pictures. The outcome has
        /// the same `isAsked`.
        case cover(Cover, isAsked: Bool)
        /// Forbid all pictures captured until now.
        case hidePast
        /// Open another source, named in words, and replace the present one by it, also for a successor. With
        /// `publishing`, first replace all published pictures by its picture. If that fails, the present source stays.
        case adopt(String, publishing: Bool)
    }
}

/// A message to the person who runs the broadcast.
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
    /// - Parameter region: the place of the source; nil while it is missing.
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
            "the X server does not tell of all drawing: I compare the whole screen while this lasts"
        case .sourceLost(let reason): "\(reason); the last picture stays until it is back"
        case .sourceBack: "\(source) is back: \(place)"
        case .sourceGone: "\(source) is gone for good: choose what to show with \"oriel source\""
        case .sourceChanged: "sharing \(source) (\(place)) now"
        case .sourceRefused(let reason): "\(reason); \(source) is shown as before"
        }
    }
}
