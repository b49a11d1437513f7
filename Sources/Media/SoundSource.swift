/// What of the machine is heard in a broadcast.
package enum SoundSource: String, Sendable, CaseIterable, Codable {
    /// What the machine plays.
    case monitor
    /// What a microphone hears.
    case microphone = "mic"
    /// Both.
    case mix
    /// What the program plays whose window is shown.
    case application = "app"
    case none

    /// Whether a microphone is part of it.
    package var hasMicrophone: Bool { self == .microphone || self == .mix }
}

/// What a person wants of the sound process. It may change while that runs.
package struct SoundWish: Sendable, Equatable, Codable {
    package static let loudest = 255

    package var source: SoundSource
    /// A source of the sound server, by its name; nil for its default.
    package var microphone: String?
    /// A sink of the sound server, by its name; nil for its default.
    package var output: String?
    /// How loud peers are played, 0 to 255: evenly for the ear, as PulseAudio has it, which is the third power of what the samples are
    /// multiplied by.
    package var volume: Int

    package init(
        source: SoundSource = .none,
        microphone: String? = nil,
        output: String? = nil,
        volume: Int = SoundWish.loudest
    ) {
        (self.source, self.microphone, self.output, self.volume) = (source, microphone, output, volume)
    }
}

/// What is not heard although it is wanted.
package struct SoundMute: Sendable, Equatable, Codable {
    package var microphone = false
    package var all = false

    package init(microphone: Bool = false, all: Bool = false) { (self.microphone, self.all) = (microphone, all) }
}
