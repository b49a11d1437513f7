import Media

/// The device or program that a stream of the sound server records or plays into.
enum SoundTarget: Hashable, Sendable {
    /// All sound of a sink, by the name of its monitor.
    case monitor(String)
    /// A microphone, by the name of its source.
    case microphone(String, cancelsEcho: Bool)
    /// The sound of one program, by the number of its sink input.
    case input(UInt32)
    /// A sink, by its name, in which this process plays peers' voices.
    case output(String)

    var isMicrophone: Bool { if case .microphone = self { true } else { false } }
    var cancelsEcho: Bool { if case .microphone(_, cancelsEcho: true) = self { true } else { false } }
    var isInput: Bool { if case .input = self { true } else { false } }
    /// The sink of a playback; nil for a recording.
    var sink: String? { if case .output(let name) = self { name } else { nil } }
    /// A voice needs one channel.
    var channels: Int { isMicrophone ? 1 : 2 }
}

extension SoundSession {
    enum Event: Equatable {
        case wished(SoundWish)
        case muted(SoundMute)
        case broadcast(BroadcastView)
        /// Whether peers may speak, and whether one speaks or has just spoken.
        case talk(isPossible: Bool, isHeard: Bool)
        /// The sound server has accepted this process.
        case connected
        /// The connection failed, or is lost.
        case serverLost(reason: String)
        /// The sound server has listed its devices and streams.
        case viewed(ServerView)
        /// The stream of this number is open.
        case opened(Int)
        /// The stream of this number failed, or is gone.
        case failed(Int, reason: String)
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
        /// Hides all sound recorded so far.
        case hide
        case tell(SoundNote)
    }
}

/// A report to a person.
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

/// The state of the broadcast on which its sound depends.
struct BroadcastView: Equatable {
    /// Whether a person paused it; also before its capture process has said anything.
    var isPaused = true
    /// The process whose window is shown; nil if it shows no window, or one whose process is not known.
    var process: Int32?
}
