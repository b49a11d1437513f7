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

    /// The playback of peers' voices.
    package struct Playback: Codable, Sendable, Equatable {
        /// The sink; absent while there is no playback.
        package var device: String?
        package var volume: Int
        /// Samples that wait for playback.
        package var bufferMs: Double
        /// How many times samples ran out in the middle of speech.
        package var underruns: Int
        /// How much playback is slowed down to follow the device's clock, in millionths.
        package var stretchPpm: Double

        package init(device: String?, volume: Int, bufferMs: Double, underruns: Int, stretchPpm: Double) {
            (self.device, self.volume, self.bufferMs) = (device, volume, bufferMs)
            (self.underruns, self.stretchPpm) = (underruns, stretchPpm)
        }
    }

    package var pid: Int32
    package var source: SoundSource
    package var state: State
    package var isMicrophoneLive: Bool
    package var isMicrophoneMuted: Bool
    /// The loudest sample of the last second, in dB; absent without a recording. 0 is full scale.
    package var peakDbfs: Double?
    /// The loudness of the last second, in dB; 0 is a tone of full scale.
    package var levelDbfs: Double?
    package var streams: [Stream]
    package var blocksWritten: UInt64
    /// One sentence each.
    package var problems: [String]
    package var playback: Playback

    package init(
        pid: Int32,
        source: SoundSource,
        state: State,
        isMicrophoneLive: Bool,
        isMicrophoneMuted: Bool,
        peakDbfs: Double?,
        levelDbfs: Double?,
        streams: [Stream],
        blocksWritten: UInt64,
        problems: [String],
        playback: Playback
    ) {
        (self.pid, self.source, self.state) = (pid, source, state)
        (self.isMicrophoneLive, self.isMicrophoneMuted) = (isMicrophoneLive, isMicrophoneMuted)
        (self.peakDbfs, self.levelDbfs, self.streams) = (peakDbfs, levelDbfs, streams)
        (self.blocksWritten, self.problems, self.playback) = (blocksWritten, problems, playback)
    }
}
