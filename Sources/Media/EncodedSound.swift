package import Time

/// The description of an encoded packet of sound, which goes with its bytes: 20 ms of Opus (RFC 7587) at 48 kHz.
package struct EncodedSound: Sendable, Equatable {
    /// Samples of a second, in each channel.
    package static let sampleRate = 48_000
    /// How long a packet sounds.
    package static let duration = Duration.milliseconds(20)
    /// Samples of a packet, in each channel.
    package static let samples = 960

    /// When its first sample was heard, on the clock of `EncodedFrame.capturedAt`. Packets that follow each other without a gap are
    /// exactly `duration` apart.
    package let capturedAt: Instant

    package init(capturedAt: Instant) { self.capturedAt = capturedAt }
}

/// What a sink wants of the broadcast's sound, of which there is one encode.
package struct SoundDemand: Sendable, Equatable {
    /// Whether somebody listens. Nothing is encoded while nobody does.
    package var isWanted: Bool
    /// What the listeners' links carry beside the picture, in bits a second; nil where nothing tells.
    package var bitrate: Int?
    /// The part of the packets that is lost on the way to those listeners who lose most, 0 to 1.
    package var lossRatio: Double
    /// Whether a packet must come now and then although it is silent, as a media server takes a stream for broken otherwise.
    package var isKeptAlive: Bool

    package init(isWanted: Bool, bitrate: Int? = nil, lossRatio: Double = 0, isKeptAlive: Bool = false) {
        (self.isWanted, self.bitrate, self.lossRatio, self.isKeptAlive) = (isWanted, bitrate, lossRatio, isKeptAlive)
    }

    package static let none = SoundDemand(isWanted: false)
}
