package import Time

/// The description of an encoded packet of sound, which goes with its bytes: 20 ms of Opus (RFC 7587) at 48 kHz.
package struct EncodedSound: Sendable, Equatable {
    /// Samples a second, in each channel.
    package static let sampleRate = 48_000
    package static let duration = Duration.milliseconds(20)
    /// Samples of a packet, in each channel.
    package static let samples = 960

    /// When its first sample was heard, on the clock of `EncodedFrame.capturedAt`. Without a gap, packets are exactly
    /// `duration` apart.
    package let capturedAt: Instant

    package init(capturedAt: Instant) { self.capturedAt = capturedAt }
}

/// A sink's demand for the broadcast's sound, of which there is one encode.
package struct SoundDemand: Sendable, Equatable {
    /// Whether there are listeners. Without any, nothing is encoded.
    package var isWanted: Bool
    /// The rate that the listeners' links carry besides the picture, in bits a second; nil if unknown.
    package var bitrate: Int?
    /// The share of lost packets of the listeners with the most losses, 0 to 1.
    package var lossRatio: Double
    /// Whether packets must come now and then in silence: otherwise a media server takes the stream for broken.
    package var isKeptAlive: Bool

    package init(isWanted: Bool, bitrate: Int? = nil, lossRatio: Double = 0, isKeptAlive: Bool = false) {
        (self.isWanted, self.bitrate, self.lossRatio, self.isKeptAlive) = (isWanted, bitrate, lossRatio, isKeptAlive)
    }

    package static let none = SoundDemand(isWanted: false)
}
