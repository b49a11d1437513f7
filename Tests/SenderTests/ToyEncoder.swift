import Media
import Pixels
import TestSupport
import Time
import VideoEncoding

@testable import Sender

/// An encoder without pictures: it keeps the rules of `VideoEncoder`, and chance decides on the rest. Two that get the same calls
/// answer alike.
struct ToyEncoder {
    struct Frame: Equatable {
        let isKeyframe: Bool
        let quantizer: Int
        let byteCount: Int
    }

    /// What it was told to do.
    enum Call: Equatable {
        case repeatKeyframe(Instant)
        case patch(Instant, BlockSet, rows: Int?, moved: BlockSet?, limit: Int)
        case encode(Instant, isKeyframe: Bool, ClosedRange<Int>?, BlockSet?, isThorough: Bool)
        case probe
    }

    private let codec: VideoCodec
    private let allowsPatches: Bool
    private var random: SplitMix
    private var calls: [Call] = []
    private(set) var repeatableQuantizer: Int?
    private(set) var patchedBlocks: BlockSet?
    private(set) var canPatch = false

    init(_ codec: VideoCodec, allowsPatches: Bool, seed: UInt64) {
        self.codec = codec
        self.allowsPatches = allowsPatches
        random = SplitMix(seed: seed)
    }

    /// What it was told since this was asked last.
    mutating func takeCalls() -> [Call] {
        defer { calls = [] }
        return calls
    }

    mutating func repeatKeyframe(presentationTime: Instant) -> Frame? {
        calls.append(.repeatKeyframe(presentationTime))
        guard let quantizer = repeatableQuantizer, codec != .av1 else { return nil }
        patchedBlocks = nil
        return frame(isKeyframe: true, quantizer: quantizer, mostBytes: 40_000)
    }

    mutating func patch(presentationTime: Instant, blocks: BlockSet, scroll: Scroll?, limit: Int) -> Frame? {
        calls.append(.patch(presentationTime, blocks, rows: scroll?.rows, moved: scroll?.blocks, limit: limit))
        // It is too large.
        if Int.random(in: 0..<4, using: &random) == 0 { return nil }
        patchedBlocks = patchedBlocks ?? BlockSet(blocks.size, side: BlockSet.macroblock)
        patchedBlocks?.formUnion(blocks)
        if let scroll { patchedBlocks?.formUnion(scroll.blocks) }
        if patchedBlocks?.isEmpty ?? false { patchedBlocks = nil }
        return frame(isKeyframe: false, quantizer: 7, mostBytes: min(limit, 4000))
    }

    mutating func encode(
        presentationTime: Instant,
        forceKeyframe: Bool,
        quantizers: ClosedRange<Int>?,
        active: BlockSet?,
        isThorough: Bool
    ) -> Frame? {
        calls.append(
            .encode(presentationTime, isKeyframe: forceKeyframe, quantizers, active, isThorough: isThorough)
        )
        // Rate control drops it.
        if Int.random(in: 0..<8, using: &random) == 0 { return nil }
        let isKeyframe = Int.random(in: 0..<50, using: &random) == 0 || forceKeyframe
        let quantizer = Int.random(in: quantizers ?? 4...63, using: &random)
        repeatableQuantizer = isKeyframe && codec != .av1 ? quantizer : nil
        patchedBlocks = nil
        canPatch = codec == .vp8 && allowsPatches && Int.random(in: 0..<10, using: &random) > 0
        return frame(isKeyframe: isKeyframe, quantizer: quantizer, mostBytes: 40_000)
    }

    /// What a probe of the picture finds; nil if it fails.
    mutating func need() -> ContentProbe.Need? {
        calls.append(.probe)
        if Int.random(in: 0..<8, using: &random) == 0 { return nil }
        return ContentProbe.Need(
            readable: Int.random(in: 0...63, using: &random),
            clear: Int.random(in: 0...63, using: &random),
            bytes: Double.random(in: 1...80, using: &random)
        )
    }

    private mutating func frame(isKeyframe: Bool, quantizer: Int, mostBytes: Int) -> Frame {
        // Most are small.
        let most = Int.random(in: 0..<3, using: &random) == 0 ? mostBytes : min(mostBytes, 600)
        return Frame(
            isKeyframe: isKeyframe,
            quantizer: quantizer,
            byteCount: Int.random(in: 0...most, using: &random)
        )
    }
}
