internal import COpus
import Media

/// libopus's decoder of one stream of sound (RFC 6716), into one or two channels, whatever the stream has.
///
/// Nothing in a packet is believed: one that is malformed throws and changes nothing.
package struct OpusDecoder: ~Copyable {
    /// The most samples of a packet in each channel: 120 ms.
    package static let mostSamples = 5760
    /// Decoders make up for 2.5 ms and multiples of it.
    private static let unit = 120

    /// 1 or 2; samples of two channels are interleaved, left before right.
    package let channels: Int
    private let decoder: OpaquePointer
    private let samples: UnsafeMutablePointer<Int16>

    /// - Parameter channels: 1 or 2.
    package init(channels: Int) throws(OpusError) {
        precondition(1...2 ~= channels)
        var code: Int32 = OPUS_OK
        let created = opus_decoder_create(Int32(EncodedSound.sampleRate), Int32(channels), &code)
        guard let created, code == OPUS_OK else { throw OpusError(call: "opus_decoder_create", code: code) }
        self.channels = channels
        decoder = created
        samples = .allocate(capacity: Self.mostSamples * channels)
    }

    deinit {
        opus_decoder_destroy(decoder)
        samples.deallocate()
    }

    /// Decodes a packet.
    ///
    /// - Parameter body: gets the samples, which are valid until it returns.
    package mutating func decode<Result: ~Copyable>(
        _ packet: Span<UInt8>,
        _ body: (Span<Int16>) -> Result
    ) throws(OpusError) -> Result {
        // libopus takes an empty packet for one that is lost.
        if packet.isEmpty { throw OpusError(call: "opus_decode", code: OPUS_INVALID_PACKET) }
        return try decode(packet, Self.mostSamples, isCopy: false, body)
    }

    /// Decodes the copy of a packet that is lost in the one after it (RFC 6716 §2.1.7); if there is none, makes up for it.
    ///
    /// - Parameter samples: of the lost packet in each channel, a multiple of 120 up to `mostSamples`.
    package mutating func recover<Result: ~Copyable>(
        _ samples: Int,
        from packet: Span<UInt8>,
        _ body: (Span<Int16>) -> Result
    ) throws(OpusError) -> Result {
        precondition(Self.canMakeUp(samples))
        return try decode(packet, samples, isCopy: true, body)
    }

    /// Makes up for what is lost, so that it sounds as what was decoded before, and fades.
    ///
    /// - Parameter samples: in each channel, as of `recover`.
    package mutating func conceal<Result: ~Copyable>(
        _ samples: Int,
        _ body: (Span<Int16>) -> Result
    ) throws(OpusError) -> Result {
        precondition(Self.canMakeUp(samples))
        return try decode(Span(), samples, isCopy: false, body)
    }

    private static func canMakeUp(_ samples: Int) -> Bool {
        unit...mostSamples ~= samples && samples.isMultiple(of: unit)
    }

    private mutating func decode<Result: ~Copyable>(
        _ packet: Span<UInt8>,
        _ samples: Int,
        isCopy: Bool,
        _ body: (Span<Int16>) -> Result
    ) throws(OpusError) -> Result {
        let count = packet.withUnsafeBufferPointer { packet in
            opus_decode(decoder, packet.baseAddress, Int32(packet.count), self.samples, Int32(samples), isCopy ? 1 : 0)
        }
        guard count > 0 else { throw OpusError(call: "opus_decode", code: count) }
        return body(Span(_unsafeStart: UnsafePointer(self.samples), count: Int(count) * channels))
    }
}
