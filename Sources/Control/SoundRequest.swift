package import Media

/// What a command asks of the sound process: one JSON object on one line, such as `{"mute":{"microphone":true}}`.
package enum SoundRequest: ControlRequest, Equatable {
    package static let limit = 4096

    case status
    /// Changes what is given.
    case change(SoundChange)
    /// What is given is not heard any more, once this is answered; also by a sound process that comes later.
    case mute(SoundMute)
    /// What is given may be heard again.
    case unmute(SoundMute)
}

/// What shall be otherwise; nil for what stays.
package struct SoundChange: Codable, Sendable, Equatable {
    package var source: SoundSource?
    /// By its name; empty for the default.
    package var microphone: String?
    /// By its name; empty for the default.
    package var output: String?
    /// 0 to 255.
    package var volume: Int?

    package init(source: SoundSource? = nil, microphone: String? = nil, output: String? = nil, volume: Int? = nil) {
        (self.source, self.microphone, self.output, self.volume) = (source, microphone, output, volume)
    }
}

extension SoundWish {
    /// Changes what a request gives.
    ///
    /// - Returns: why that cannot be; nil if it was done.
    package mutating func apply(_ change: SoundChange) -> String? {
        if let volume = change.volume, !(0...Self.loudest ~= volume) { return "the volume \(volume) is out of range" }
        if let source = change.source { self.source = source }
        if let name = change.microphone { microphone = name.isEmpty ? nil : name }
        if let name = change.output { output = name.isEmpty ? nil : name }
        if let volume = change.volume { self.volume = volume }
        return nil
    }
}
