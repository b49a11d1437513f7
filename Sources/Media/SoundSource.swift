package enum SoundSource: String, Sendable, CaseIterable, Codable {
    /// The machine's own sound.
    case monitor
    case microphone = "mic"
    case mix
    /// The sound of the program whose window is shown.
    case application = "app"
    case none

    package var hasMicrophone: Bool { self == .microphone || self == .mix }
}

/// A person's settings of the sound process. They may change while it runs.
package struct SoundWish: Sendable, Equatable, Codable {
    package static let loudest = 255

    package var source: SoundSource
    /// The name of a source of the sound server; nil for its default.
    package var microphone: String?
    /// The name of a sink of the sound server; nil for its default.
    package var output: String?
    /// The volume of peers, 0 to 255. It is even for the ear, as in PulseAudio: samples are multiplied by its third
    /// power.
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

package struct SoundMute: Sendable, Equatable, Codable {
    package var microphone = false
    package var all = false

    package init(microphone: Bool = false, all: Bool = false) { (self.microphone, self.all) = (microphone, all) }
}
