import Media
package import Pixels
package import Time

/// The encoder's description of a frame.
package struct EncodingResult: Equatable, Sendable {
    /// Whether it can be decoded without the frames before.
    package let isKeyframe: Bool
    /// From 0, the finest, to 63.
    package let quantizer: Int
}

/// A frame in the memory of its encoder, valid until the encoder's next call.
typealias EncodedPacket = (frame: EncodingResult, bytes: UnsafeBufferPointer<UInt8>)

/// A video encoder for one stream, used by one thread at a time. The first frame is a keyframe; later ones only on
/// demand. The same input gives the same stream, whatever the speed of the machine.
package struct VideoEncoder: ~Copyable {
    private enum Library {
        case libvpx(VPXEncoder)
        case libaom(AV1Encoder)
    }

    package private(set) var configuration: VideoEncoderConfiguration
    private let library: Library
    private var previousTime: Instant?

    /// - Throws: `configuration` for a value out of range, `library` if the codec's library refuses.
    package init(_ configuration: VideoEncoderConfiguration) throws(VideoEncoderError) {
        try configuration.validate()
        let library: Library =
            switch configuration.codec {
            case .vp8, .vp9: .libvpx(try VPXEncoder(configuration))
            case .av1: .libaom(try AV1Encoder(configuration))
            }
        self.configuration = configuration
        self.library = library
    }

    /// Encodes a picture and lends the result to `body`; no byte is copied.
    ///
    /// - Parameters:
    ///   - picture: Of the configured size.
    ///   - presentationTime: By any clock; later than that of every frame before.
    ///   - forceKeyframe: Whether the frame must be decodable alone.
    ///   - quantizers: The allowed quantizers of the frame, of 0...63, at any cost; nil leaves them to rate control.
    ///     Rate control uses none that is finer than useful for the codec, unless all are.
    ///   - active: The macroblocks to encode; the others stay as in the last frame. An empty set makes a frame of about
    ///     100 bytes. Nil encodes all of them, and so does a keyframe. AV1 also encodes all of them after a frame
    ///     that the library left out.
    ///   - isThorough: Whether the encoder takes more time for fewer bytes. Only AV1 can: a keyframe of text then takes
    ///     a quarter less at the same quality, in the same time. Other frames take a tenth less, in four times the
    ///     time.
    ///   - body: Gets the frame; the data is valid until it returns.
    /// - Returns: The result of `body`, or nil if the library gives no frame.
    /// - Throws: `presentationTime` if it is not later, `library` if encoding fails.
    package mutating func encode<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        presentationTime: Instant,
        forceKeyframe: Bool = false,
        quantizers: ClosedRange<Int>? = nil,
        active: BlockSet? = nil,
        isThorough: Bool = false,
        _ body: (_ frame: EncodingResult, _ data: Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        try check(picture, presentationTime)
        if let active {
            precondition(active.size == configuration.size && active.side == BlockSet.macroblock, "of another picture")
        }
        let packet: EncodedPacket?
        switch library {
        case .libvpx(let encoder):
            packet = try encoder.encode(picture, presentationTime, forceKeyframe, quantizers, active)
        case .libaom(let encoder):
            packet = try encoder.encode(picture, presentationTime, forceKeyframe, quantizers, active, isThorough)
        }
        previousTime = presentationTime
        guard let packet else { return nil }
        return body(packet.frame, packet.bytes.span)
    }

    private var vpx: VPXEncoder? { if case .libvpx(let encoder) = library { encoder } else { nil } }

    /// The quantizer of the keyframe that `repeatKeyframe` would give; nil if there is none.
    package var repeatableQuantizer: Int? { vpx?.keyframe?.frame.quantizer }

    /// Gives the last keyframe again, byte for byte, and continues from its picture.
    ///
    /// Patches since then do not matter: the encoder has never learnt of them, and a keyframe of VP8 resets all state
    /// of a decoder (RFC 6386 §9.3 to §9.11). After another frame of the encoder itself there is no keyframe to repeat.
    ///
    /// - Parameters:
    ///   - presentationTime: As for `encode`.
    ///   - body: Gets the frame; the data is valid until it returns.
    /// - Returns: The result of `body`, or nil if there is no keyframe to repeat.
    package mutating func repeatKeyframe<Result: ~Copyable>(
        presentationTime: Instant,
        _ body: (_ frame: EncodingResult, _ data: Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        try check(presentationTime)
        guard let (frame, data) = vpx?.repeatKeyframe() else { return nil }
        previousTime = presentationTime
        return body(frame, data.span)
    }

    /// Whether small changes can be sent by `patch`.
    package var canPatch: Bool { vpx?.patcher?.canPatch ?? false }

    /// The macroblocks that patches have changed, and that `encode` must encode anew; nil if there are none.
    package var patchedBlocks: BlockSet? {
        guard let blocks = vpx?.patcher?.patched, !blocks.isEmpty else { return nil }
        return blocks
    }

    /// Copies the picture that decoders have after the last frame. Returns false if it is unknown.
    package func copyReference(into picture: inout PlanarPicture) -> Bool {
        switch library {
        case .libvpx(let encoder): encoder.copyReference(into: &picture)
        case .libaom(let encoder): encoder.copyReference(into: &picture)
        }
    }

    /// Adds the macroblocks in which decoders show something else than a picture that is encoded finely, beyond what the
    /// codec does to edges. VP8 has none.
    ///
    /// A quantizer promises little of one sample. And libaom 3.6 leaves a change out whose luma stays the same.
    ///
    /// - Parameter picture: Of the configured size.
    package func findErrors(of picture: borrowing NV12Picture, in blocks: inout BlockSet) {
        let codec = configuration.codec
        let reference =
            switch library {
            case .libvpx(let encoder): codec == .vp8 ? nil : encoder.lastPicture?.source
            case .libaom(let encoder): encoder.reference
            }
        guard let reference else { return }
        picture.findErrors(of: reference, luma: codec.mostOff.luma, chroma: codec.mostOff.chroma, in: &blocks)
    }

    var patcher: PatchEncoder? { vpx?.patcher }

    /// Encodes a change of few macroblocks at a fine quantizer, for a fraction of the cost of `encode`.
    ///
    /// - Parameters:
    ///   - picture: Of the configured size.
    ///   - presentationTime: As for `encode`.
    ///   - blocks: The macroblocks to encode. With none, the frame repeats the picture.
    ///   - scroll: The moved macroblocks; nil for none.
    ///   - limit: The largest size of the frame, in bytes.
    ///   - body: Gets the frame; the data is valid until it returns.
    /// - Returns: The result of `body`, or nil if the frame would be too large: then use `encode`.
    /// - Precondition: `canPatch`.
    package mutating func patch<Result: ~Copyable>(
        _ picture: borrowing NV12Picture,
        presentationTime: Instant,
        blocks: BlockSet,
        scroll: Scroll? = nil,
        limit: Int,
        _ body: (_ frame: EncodingResult, _ data: Span<UInt8>) -> Result
    ) throws(VideoEncoderError) -> Result? {
        try check(picture, presentationTime)
        guard let vpx else { preconditionFailure("only VP8 can be patched") }
        let frame = EncodingResult(isKeyframe: false, quantizer: PatchEncoder.quantizer)
        let result = vpx.patch(picture, blocks, scroll, limit: limit) { body(frame, $0) }
        if result != nil { previousTime = presentationTime }
        return result
    }

    /// Changes the target from the next frame on.
    ///
    /// - Parameter bitrate: In bits per second, at least 1000.
    /// - Throws: `configuration` for a value out of range, `library` if the codec's library refuses. The old target
    ///   then stays.
    package mutating func setBitrate(_ bitrate: Int) throws(VideoEncoderError) {
        try VideoEncoderConfiguration.validate(bitrate: bitrate)
        switch library {
        case .libvpx(let encoder): try encoder.setBitrate(bitrate)
        case .libaom(let encoder): try encoder.setBitrate(bitrate)
        }
        configuration.targetBitrate = bitrate
    }

    private func check(_ picture: borrowing NV12Picture, _ presentationTime: Instant) throws(VideoEncoderError) {
        precondition(picture.size == configuration.size, "the picture is not of the configured size")
        try check(presentationTime)
    }

    private func check(_ presentationTime: Instant) throws(VideoEncoderError) {
        if let previousTime, presentationTime <= previousTime {
            throw .presentationTime(presentationTime, previous: previousTime)
        }
    }
}
