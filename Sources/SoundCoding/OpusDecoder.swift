internal import COpus
import Media

/// libopus's decoder of one stream of sound (RFC 6716), into one or two channels, whatever the stream has.
///
/// No packet is trusted: a malformed one throws and changes nothing.
package struct OpusDecoder: ~Copyable {
    /// The most samples of a packet in each channel: 120 ms.
    package static let mostSamples = 5760
    /// Decoders conceal multiples of 2.5 ms.
    private static let unit = 120

    /// 1 or 2. Samples of two channels are interleaved, left before right.
    package let channels: Int
    private let decoder: OpaquePointer
    private let samples: UnsafeMutablePointer<Int16>

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

    /// Samples of a packet in each channel, 120 to `mostSamples`; nil if no encoder makes such a packet.
    package static func samples(of packet: [UInt8]) -> Int? {
        let count = opus_packet_get_nb_samples(packet, Int32(packet.count), Int32(EncodedSound.sampleRate))
        return count > 0 ? Int(count) : nil
    }

    package mutating func decode(_ packet: Span<UInt8>, appendingTo sound: inout [Int16]) throws(OpusError) {
        // libopus takes an empty packet for a lost one.
        if packet.isEmpty { throw OpusError(call: "opus_decode", code: OPUS_INVALID_PACKET) }
        try decode(packet, Self.mostSamples, isCopy: false, &sound)
    }

    /// Decodes the copy of a lost packet in the packet after it (RFC 6716 §2.1.7), or conceals the loss if there is
    /// none.
    ///
    /// - Parameter samples: of the lost packet in each channel, a multiple of 120 up to `mostSamples`.
    package mutating func recover(
        _ samples: Int,
        from packet: Span<UInt8>,
        appendingTo sound: inout [Int16]
    ) throws(OpusError) {
        precondition(Self.canMakeUp(samples))
        try decode(packet, samples, isCopy: true, &sound)
    }

    /// Conceals a loss with sound that resembles the last decoded samples, and fades.
    ///
    /// - Parameter samples: in each channel, as for `recover`.
    package mutating func conceal(_ samples: Int, appendingTo sound: inout [Int16]) throws(OpusError) {
        precondition(Self.canMakeUp(samples))
        try decode(Span(), samples, isCopy: false, &sound)
    }

    private static func canMakeUp(_ samples: Int) -> Bool {
        unit...mostSamples ~= samples && samples.isMultiple(of: unit)
    }

    private mutating func decode(
        _ packet: Span<UInt8>,
        _ count: Int,
        isCopy: Bool,
        _ sound: inout [Int16]
    ) throws(OpusError) {
        let decoded = packet.withUnsafeBufferPointer { packet in
            opus_decode(decoder, packet.baseAddress, Int32(packet.count), samples, Int32(count), isCopy ? 1 : 0)
        }
        guard decoded > 0 else { throw OpusError(call: "opus_decode", code: decoded) }
        sound += UnsafeBufferPointer(start: samples, count: Int(decoded) * channels)
    }
}
