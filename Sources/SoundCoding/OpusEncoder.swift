internal import COpus
import Media

/// libopus's encoder of one stream of sound, in packets of 20 ms (RFC 6716). It encodes two channels as a screen's
/// sound, and one as a voice.
///
/// The bitrate varies with the sound, but not by much from one packet to the next. With two channels, each packet can
/// be decoded alone (CELT). With a voice, each holds the one before it again, in fewer bits (RFC 6716 §2.1.7), so that
/// a receiver survives the loss of one. While nobody speaks, packets of a byte say so, and need not be sent.
package struct OpusEncoder: ~Copyable {
    package static let maximumPacketSize = 1000
    /// At this setting of 0…10, stereo takes 0.6 % of a core and a voice 1.1 %; with 10 it is 0.8 and 2.0 %.
    private static let complexity: Int32 = 5

    /// 1 or 2.
    package let channels: Int
    /// Bits a second.
    package private(set) var bitrate: Int
    /// The assumed share of lost packets, in percent.
    private var expectedLoss: Int32
    private let encoder: OpaquePointer
    private let packet: UnsafeMutablePointer<UInt8>

    package init(channels: Int) throws(OpusError) {
        precondition(1...2 ~= channels)
        let (bitrate, loss) = (Self.usualBitrate(channels: channels), Self.losses(channels: channels).lowerBound)
        var code: Int32 = OPUS_OK
        let application = channels == 2 ? OPUS_APPLICATION_AUDIO : OPUS_APPLICATION_VOIP
        let created = opus_encoder_create(Int32(EncodedSound.sampleRate), Int32(channels), application, &code)
        guard let created, code == OPUS_OK else { throw OpusError(call: "opus_encoder_create", code: code) }
        do throws(OpusError) {
            // With this signal, libopus does not take the screen's sound for a voice, which it would repeat at the cost
            // of quality.
            try Self.set(OPUS_SET_SIGNAL_REQUEST, channels == 2 ? OPUS_SIGNAL_MUSIC : OPUS_SIGNAL_VOICE, of: created)
            try Self.set(OPUS_SET_COMPLEXITY_REQUEST, Self.complexity, of: created)
            try Self.set(OPUS_SET_DTX_REQUEST, 1, of: created)
            try Self.set(OPUS_SET_INBAND_FEC_REQUEST, 1, of: created)
            try Self.set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, loss, of: created)
            try Self.set(OPUS_SET_BITRATE_REQUEST, Int32(bitrate), of: created)
        } catch {
            opus_encoder_destroy(created)
            throw error
        }
        (self.channels, self.bitrate, expectedLoss) = (channels, bitrate, loss)
        encoder = created
        packet = .allocate(capacity: Self.maximumPacketSize)
    }

    deinit {
        opus_encoder_destroy(encoder)
        packet.deallocate()
    }

    /// A bitrate that sounds well, in bits a second.
    package static func usualBitrate(channels: Int) -> Int { channels == 2 ? 96_000 : 40_000 }

    /// Bits a second. With fewer, two channels are no longer encoded as music, and a voice is no longer repeated.
    package static func bitrates(channels: Int) -> ClosedRange<Int> {
        channels == 2 ? 24_000...256_000 : 16_000...128_000
    }

    /// Percent. A voice is always repeated, as the first loss comes before any report of losses: with 8, libopus
    /// repeats it at all of these bitrates but the lowest. With more than 8, it encodes two channels as a voice.
    private static func losses(channels: Int) -> ClosedRange<Int32> { channels == 2 ? 0...8 : 8...30 }

    /// Sets the bitrate from the next packet on, limited to `bitrates`.
    package mutating func setBitrate(_ bitrate: Int) throws(OpusError) {
        let range = Self.bitrates(channels: channels)
        let bitrate = min(max(bitrate, range.lowerBound), range.upperBound)
        if bitrate == self.bitrate { return }
        try Self.set(OPUS_SET_BITRATE_REQUEST, Int32(bitrate), of: encoder)
        self.bitrate = bitrate
    }

    /// Prepares for losses from the next packet on: packets depend less on those before, or repeat more of them.
    ///
    /// - Parameter loss: the share of packets that does not arrive, 0…1.
    package mutating func setExpectedLoss(_ loss: Double) throws(OpusError) {
        let range = Self.losses(channels: channels)
        let percent = Int32(min(max(loss, 0), 1) * 100 + 0.5)
        let expected = min(max(percent, range.lowerBound), range.upperBound)
        if expected == expectedLoss { return }
        try Self.set(OPUS_SET_PACKET_LOSS_PERC_REQUEST, expected, of: encoder)
        expectedLoss = expected
    }

    /// Encodes 20 ms.
    ///
    /// - Parameters:
    ///   - samples: `EncodedSound.samples` for each channel, interleaved.
    ///   - body: gets the packet of 1…`maximumPacketSize` bytes, valid until it returns.
    package mutating func encode<Result: ~Copyable>(
        _ samples: Span<Int16>,
        _ body: (Span<UInt8>) -> Result
    ) throws(OpusError) -> Result {
        precondition(samples.count == EncodedSound.samples * channels)
        let size = samples.withUnsafeBufferPointer { samples in
            opus_encode(
                encoder,
                samples.baseAddress!,
                Int32(EncodedSound.samples),
                packet,
                Int32(Self.maximumPacketSize)
            )
        }
        guard size > 0 else { throw OpusError(call: "opus_encode", code: size) }
        return body(Span(_unsafeStart: UnsafePointer(packet), count: Int(size)))
    }

    private static func set(_ request: Int32, _ value: Int32, of encoder: OpaquePointer) throws(OpusError) {
        let code = oriel_opus_set(encoder, request, value)
        guard code == OPUS_OK else { throw OpusError(call: "opus_encoder_ctl(\(request))", code: code) }
    }
}
