package import Media

/// The sound process at one instant. Names and units are those of the JSON of `oriel status`.
package struct SoundSnapshot: Codable, Sendable, Equatable {
    package enum State: String, Codable, Sendable {
        /// No source is chosen.
        case off
        case paused
        case muted
        case hearing
        /// The chosen source is missing.
        case waiting
    }

    package struct Stream: Codable, Sendable, Equatable {
        /// The source of the sound server, or the number of the recorded stream.
        package var device: String
        package var isMicrophone: Bool
        /// How much faster the device's clock is, in millionths; absent while unknown.
        package var driftPpm: Double?
        /// Whether its samples are resampled to this machine's clock.
        package var isResampled: Bool

        package init(device: String, isMicrophone: Bool, driftPpm: Double?, isResampled: Bool) {
            (self.device, self.isMicrophone) = (device, isMicrophone)
            (self.driftPpm, self.isResampled) = (driftPpm, isResampled)
        }
    }

    package struct Playback: Codable, Sendable, Equatable {
        /// The sink; absent while there is no playback.
        package var device: String?
        package var volume = SoundWish.loudest
        /// Samples that wait for playback.
        package var bufferMs = 0.0
        /// How many times samples ran out in the middle of speech.
        package var underruns = 0
        /// How much playback is slowed down to follow the device's clock, in millionths.
        package var stretchPpm = 0.0
    }

    package var pid: Int32
    package var source: SoundSource
    package var state: State
    package var isMicrophoneLive = false
    package var isMicrophoneMuted = false
    /// The loudest sample of the last second, in dB; absent without a recording. 0 is full scale.
    package var peakDbfs: Double?
    /// The loudness of the last second, in dB; 0 is a tone of full scale.
    package var levelDbfs: Double?
    package var streams: [Stream] = []
    package var blocksWritten: UInt64 = 0
    /// One sentence each.
    package var problems: [String] = []
    package var playback = Playback()

    package init(pid: Int32, source: SoundSource, state: State) {
        (self.pid, self.source, self.state) = (pid, source, state)
    }
}
