import Media

/// What a stream on the sound server hears or plays.
enum SoundTarget: Hashable, Sendable {
    /// All that is played into a sink, by the name of its monitor.
    case monitor(String)
    /// A microphone, by the name of the source.
    case microphone(String, cancelsEcho: Bool)
    /// What one program plays, by the number of the sink input.
    case input(UInt32)
    /// A sink, by its name, into which this process plays what peers say.
    case output(String)

    var isMicrophone: Bool { if case .microphone = self { true } else { false } }
    var isInput: Bool { if case .input = self { true } else { false } }
    /// The sink that is played into; nil for what is heard.
    var sink: String? { if case .output(let name) = self { name } else { nil } }
    /// A voice needs one channel.
    var channels: Int { isMicrophone ? 1 : 2 }
}

extension SoundSession {
    /// Something that happens, with what has come of it.
    enum Event: Equatable {
        case wished(SoundWish)
        case muted(SoundMute)
        case broadcast(BroadcastView)
        /// Whether peers may speak, and whether one does or did just now.
        case talk(isPossible: Bool, isHeard: Bool)
        /// The sound server takes this process as a client.
        case connected
        /// The connection could not be made, or is lost.
        case serverLost(reason: String)
        /// The sound server has said what it has.
        case viewed(ServerView)
        /// The stream of this number is there.
        case opened(Int)
        /// The stream of this number could not be had, or is gone.
        case failed(Int, reason: String)
        /// The sound server has answered something.
        case answered
        /// Time has passed.
        case woke
    }

    enum Action: Equatable {
        case connect
        /// Ends the connection, and all streams with it.
        case disconnect
        case open(Int, SoundTarget)
        case close(Int)
        /// What was heard so far is not to be heard any more.
        case hide
        case tell(SoundNote)
    }
}

/// What a person is told.
package enum SoundNote: Equatable, Sendable, CustomStringConvertible {
    case serverLost(String)
    case serverBack
    case noMicrophone(String?)
    case noSink(String?)
    case noProgram
    case refused(String, reason: String)
    case notWritten(String)
    case microphoneLive(String)
    case microphoneOff

    package var description: String {
        switch self {
        case .serverLost(let reason):
            "there is no sound, as no sound server can be had (\(reason)): trying again until one can"
        case .serverBack: "the sound server is back"
        case .noMicrophone(let name?): "there is no microphone \(name): see \"oriel sound --list\""
        case .noMicrophone(nil): "there is no microphone: plug one in, or name a source with --microphone"
        case .noSink(let name?): "there is no sink \(name): see \"oriel sound --list\""
        case .noSink(nil): "the sound server has no sink"
        case .noProgram:
            "no program is heard, as the broadcast shows no window whose process is known: share one with --window, or take --sound monitor"
        case .refused(let name, let reason): "\(name) cannot be had (\(reason)): trying again"
        case .notWritten(let reason): "nobody hears the sound of this broadcast: \(reason)"
        case .microphoneLive(let name): "the microphone is live: \(name)"
        case .microphoneOff: "the microphone is off"
        }
    }
}

/// What matters of the broadcast.
struct BroadcastView: Equatable {
    /// Whether a person paused it; also before its capture process has said anything.
    var isPaused = true
    /// The process whose window is shown; nil if it shows no window, or one whose process is not known.
    var process: Int32?
}
