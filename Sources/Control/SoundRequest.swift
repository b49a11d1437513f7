package import Media

/// A command for the sound process: one JSON object on one line, such as `{"mute":{"microphone":true}}`.
package enum SoundRequest: ControlRequest, Equatable {
    package static let limit = 4096

    case status
    case change(SoundChange)
    /// Mutes the given sources before the reply, also for a later sound process.
    case mute(SoundMute)
    case unmute(SoundMute)
    /// Plays a sound file once.
    case play(path: String)
}

/// New settings; nil keeps a setting.
package struct SoundChange: Codable, Sendable, Equatable {
    package var source: SoundSource?
    /// The name of a source; empty for the default.
    package var microphone: String?
    /// The name of a sink; empty for the default.
    package var output: String?
    /// 0 to 255.
    package var volume: Int?

    package init(source: SoundSource? = nil, microphone: String? = nil, output: String? = nil, volume: Int? = nil) {
        (self.source, self.microphone, self.output, self.volume) = (source, microphone, output, volume)
    }
}

extension SoundWish {
    /// Applies the settings of a request.
    ///
    /// - Returns: the reason why they are impossible; nil on success.
    package mutating func apply(_ change: SoundChange) -> String? {
        if let volume = change.volume, !(0...Self.loudest ~= volume) { return "the volume \(volume) is out of range" }
        if let source = change.source { self.source = source }
        if let name = change.microphone { microphone = name.isEmpty ? nil : name }
        if let name = change.output { output = name.isEmpty ? nil : name }
        if let volume = change.volume { self.volume = volume }
        return nil
    }
}
