import Differential
import Media
import Pixels
import TestSupport
import Testing
import Time

@testable import VideoEncoding

/// Patches between the frames of libvpx's encoder, decoded by libvpx's decoder.
@Suite struct PatchTests {
    private final class Stream {
        var encoder: VideoEncoder
        var decoder = Decoder(.vp8)
        var picture: NV12Picture
        /// Changed since the encoder's last frame, and since any.
        var changed: BlockSet
        private var time = Instant(nanoseconds: 0)

        var canPatch: Bool { encoder.canPatch }
        var patched: BlockSet? { encoder.patchedBlocks }

        init(_ size: PixelSize, profile: Int = 0) throws {
            var configuration = VideoEncoderConfiguration(codec: .vp8, size: size, targetBitrate: 2_000_000)
            configuration.vp8Profile = profile
            encoder = try VideoEncoder(configuration)
            picture = NV12Picture(size: size)
            changed = BlockSet(size, side: BlockSet.macroblock)
        }

        func encode(
            _ active: BlockSet?,
            forceKeyframe: Bool = false,
            _ tap: (Span<UInt8>) -> Void = { _ in }
        ) throws {
            time += .milliseconds(33)
            let isDecoded = try encoder.encode(
                picture,
                presentationTime: time,
                forceKeyframe: forceKeyframe,
                active: active
            ) { _, data in
                tap(data)
                return decoder.decode(data)
            }
            #expect(isDecoded == true)
            changed.removeAll()
        }

        func repeatKeyframe(_ tap: (Span<UInt8>) -> Void) throws {
            time += .milliseconds(33)
            let quantizer = encoder.repeatableQuantizer
            let isDecoded = try encoder.repeatKeyframe(presentationTime: time) { frame, data in
                #expect(frame.isKeyframe && frame.quantizer == quantizer)
                tap(data)
                return decoder.decode(data)
            }
            #expect(isDecoded == true)
        }

        var whole: PixelRect { PixelRect(x: 0, y: 0, width: picture.size.width, height: picture.size.height) }

        /// Returns the size of the frame; nil when it would have been larger than the limit.
        func patch(
            _ blocks: BlockSet,
            scroll: Scroll? = nil,
            limit: Int = .max,
            _ tap: (Span<UInt8>) -> Void = { _ in }
        ) throws -> Int? {
            time += .milliseconds(33)
            let count = try encoder.patch(
                picture,
                presentationTime: time,
                blocks: blocks,
                scroll: scroll,
                limit: limit
            ) { _, data in
                tap(data)
                let isDecoded = decoder.decode(data)
                #expect(isDecoded)
                return data.count
            }
            changed.removeAll()
            return count
        }

        /// Moves a region of the picture by some rows, and fills what that leaves with stripes.
        func scroll(_ region: PixelRect, by rows: Int) -> Scroll? {
            let before = NV12Picture(copying: picture)
            let layout = picture.layout
            picture.withMutablePlanes { luma, chroma in
                before.withPlanes { oldLuma, oldChroma in
                    for y in region.y..<region.y + region.height {
                        for x in region.x..<region.x + region.width {
                            let from = y + rows
                            let isInside = region.y..<region.y + region.height ~= from
                            func move(_ offset: Int, _ source: Int, _ old: RawSpan, _ new: inout MutableRawSpan) {
                                let value =
                                    isInside
                                    ? old.unsafeLoad(fromByteOffset: source, as: UInt8.self)
                                    : UInt8(truncatingIfNeeded: y * 37 ^ x)
                                new.storeBytes(of: value, toByteOffset: offset, as: UInt8.self)
                            }
                            move(layout.lumaOffset(x: x, y: y), layout.lumaOffset(x: x, y: from), oldLuma, &luma)
                            if y % 2 == 0 {
                                let odd = x % 2
                                move(
                                    layout.chromaOffset(x: x - odd, y: y) + odd,
                                    max(0, from / 2) * layout.chromaStride + x,
                                    oldChroma,
                                    &chroma
                                )
                            }
                        }
                    }
                }
            }
            changed.insert(region)
            guard rows != 0 else { return nil }
            var scroll = Scroll(
                rows: rows,
                blocks: BlockSet(picture.size, side: BlockSet.macroblock),
                tinted: BlockSet(picture.size, side: BlockSet.macroblock)
            )
            picture.findBlocksMoved(in: region, from: before, rows: rows, &scroll.blocks, tinted: &scroll.tinted)
            return scroll.blocks.isEmpty ? nil : scroll
        }

        /// Draws noise, text or a flat field on a few macroblocks.
        func scribble(_ generator: inout SplitMix) {
            let size = picture.size
            let layout = picture.layout
            let x = Int.random(in: 0..<size.width / 2, using: &generator) * 2
            let y = Int.random(in: 0..<size.height / 2, using: &generator) * 2
            let width = min(size.width - x, Int.random(in: 1...20, using: &generator) * 2)
            let height = min(size.height - y, Int.random(in: 1...20, using: &generator) * 2)
            let kind = Int.random(in: 0..<3, using: &generator)
            let base = UInt8.random(in: 16...235, using: &generator)
            picture.withMutablePlanes { luma, chroma in
                for row in y..<y + height {
                    for column in x..<x + width {
                        let noise = UInt8.random(in: 0...255, using: &generator)
                        let value = kind == 0 ? noise : kind == 1 ? base : noise > 200 ? 20 : base
                        luma.storeBytes(
                            of: value,
                            toByteOffset: layout.lumaOffset(x: column, y: row),
                            as: UInt8.self
                        )
                        if row % 2 == 0 {
                            let offset = layout.chromaOffset(x: column & ~1, y: row) + column % 2
                            chroma.storeBytes(of: 64 + value / 2, toByteOffset: offset, as: UInt8.self)
                        }
                    }
                }
            }
            changed.insert(PixelRect(x: x, y: y, width: width, height: height))
        }
    }

    /// Invariant: exact.
    @Test(arguments: [(320, 192, 0), (100, 54, 1), (16, 16, 0), (642, 66, 1)])
    func patchesShowWhatTheyShallAndLeaveTheRest(width: Int, height: Int, profile: Int) throws {
        let size = PixelSize(width: width, height: height)
        var random = SplitMix(seed: UInt64(size.width))
        let stream = try Stream(size, profile: profile)
        Scene.draw(0, into: &stream.picture)
        for step in 0..<4 { try stream.encode(nil, forceKeyframe: step == 0) }
        var sinceFrame = BlockSet(size, side: BlockSet.macroblock)
        for step in 0..<400 {
            for _ in 0..<Int.random(in: 0...2, using: &random) { stream.scribble(&random) }
            let before = stream.decoder.luma
            var blocks = stream.changed
            sinceFrame.formUnion(blocks)
            switch Int.random(in: 0..<20, using: &random) {
            case 0:
                try stream.encode(nil, forceKeyframe: step % 3 == 0)
                sinceFrame.removeAll()
            case 1:
                #expect((stream.patched ?? blocks).subtracting(sinceFrame).isEmpty)
                try stream.encode(sinceFrame)
                sinceFrame.removeAll()
            default:
                #expect(stream.canPatch)
                _ = try #require(try stream.patch(blocks))
                check(stream, blocks, before)
                // Once more, which mends what quantization left.
                if step % 5 == 0 {
                    _ = try #require(try stream.patch(blocks))
                    blocks.removeAll()
                    let settled = stream.decoder.luma
                    let repetition = try #require(try stream.patch(blocks))
                    #expect(repetition < 60 + size.width * size.height / 256 / 40)
                    #expect(stream.decoder.luma == settled)
                }
            }
        }
        // And the encoder goes on where it was.
        Scene.draw(3, into: &stream.picture)
        for _ in 0..<40 { try stream.encode(nil) }
        #expect(peakSignalToNoiseRatio(stream.picture, stream.decoder.luma) > 36)
    }

    /// What was patched is near the picture, and exactly what the patching side believes; everything else stays.
    private func check(_ stream: Stream, _ blocks: BlockSet, _ before: [UInt8]) {
        let (size, layout) = (stream.picture.size, stream.picture.layout)
        let after = stream.decoder.luma
        let wanted = stream.picture.withPlanes { luma, _ in luma.withUnsafeBytes { [UInt8]($0) } }
        let patcher = stream.encoder.patcher!
        var (squares, count) = (0, 0)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let place = y * size.width + x
                let (column, row) = (x / 16, y / 16)
                if patcher.patched.contains(column: column, row: row) {
                    let planes = patcher.reconstruction.planes
                    guard after[place] == planes.pointers.y[y * planes.strides.y + x] else {
                        Issue.record("(\(x), \(y)) is decoded as something else")
                        return
                    }
                }
                if blocks.contains(column: column, row: row) {
                    let difference = Int(after[place]) - Int(wanted[layout.lumaOffset(x: x, y: y)])
                    squares += difference * difference
                    count += 1
                } else if after[place] != before[place] {
                    Issue.record("(\(x), \(y)) changed")
                    return
                }
            }
        }
        // 40 dB
        if count > 0 { #expect(Double(squares) / Double(count) < 6.5) }
    }

    /// Parts of the picture move up and down by odd and even numbers of rows, with something new at their edges.
    @Test(arguments: [(320, 192, 0), (100, 102, 1), (320, 194, 1), (642, 130, 0)])
    func patchesMoveWhatHasMoved(width: Int, height: Int, profile: Int) throws {
        let size = PixelSize(width: width, height: height)
        var random = SplitMix(seed: UInt64(size.width))
        let stream = try Stream(size, profile: profile)
        Scene.draw(0, into: &stream.picture)
        for step in 0..<30 { try stream.encode(nil, forceKeyframe: step == 0) }
        var (moves, refinements) = (0, 0)
        for step in 0..<300 {
            if step % 50 == 49 {
                try stream.encode(nil, forceKeyframe: step % 100 == 99)
                continue
            }
            for _ in 0..<Int.random(in: 0...1, using: &random) { stream.scribble(&random) }
            let x = Int.random(in: 0..<size.width / 4, using: &random) * 2
            let y = Int.random(in: 0..<size.height / 4, using: &random) * 2
            let region = PixelRect(
                x: x,
                y: y,
                width: .random(in: 20...size.width - x, using: &random) / 2 * 2,
                height: .random(in: 40...size.height - y, using: &random) / 2 * 2
            )
            let scroll = stream.scroll(
                region,
                by: .random(in: -min(40, region.height - 17)...min(40, region.height - 17), using: &random)
            )
            var blocks = stream.changed
            if let scroll {
                blocks.subtract(scroll.blocks)
                moves += scroll.blocks.count
                // Some of what moves gets better, too.
                for row in 0..<scroll.blocks.rows {
                    for column in 0..<scroll.blocks.columns
                    where scroll.blocks.contains(column: column, row: row) && random.next() % 4 == 0 {
                        blocks.insert(column: column, row: row)
                        refinements += 1
                    }
                }
            }
            _ = try #require(try stream.patch(blocks, scroll: scroll))
            check(stream, blocks)
        }
        #expect(moves > 300 && refinements > 60)
    }

    /// What was patched is near the picture, and the whole is exactly what the patching side believes.
    private func check(_ stream: Stream, _ blocks: BlockSet) {
        let (size, layout) = (stream.picture.size, stream.picture.layout)
        let after = stream.decoder.luma
        let wanted = stream.picture.withPlanes { luma, _ in luma.withUnsafeBytes { [UInt8]($0) } }
        let patcher = stream.encoder.patcher!
        let planes = patcher.reconstruction.planes
        var (squares, count) = (0, 0)
        for y in 0..<size.height {
            for x in 0..<size.width {
                let place = y * size.width + x
                let (column, row) = (x / 16, y / 16)
                if patcher.patched.contains(column: column, row: row),
                    after[place] != planes.pointers.y[y * planes.strides.y + x]
                {
                    Issue.record("(\(x), \(y)) is decoded as something else")
                    return
                }
                guard blocks.contains(column: column, row: row) else { continue }
                let difference = Int(after[place]) - Int(wanted[layout.lumaOffset(x: x, y: y)])
                squares += difference * difference
                count += 1
            }
        }
        if count > 0 { #expect(Double(squares) / Double(count) < 6.5) }
        let (u, v) = (stream.decoder.u, stream.decoder.v)
        for y in 0..<size.height / 2 {
            for x in 0..<size.width / 2 where patcher.patched.contains(column: x / 8, row: y / 8) {
                let place = y * planes.strides.u + x
                if u[y * size.width / 2 + x] != planes.pointers.u[place]
                    || v[y * size.width / 2 + x] != planes.pointers.v[place]
                {
                    Issue.record("the chroma at (\(x), \(y)) is decoded as something else")
                    return
                }
            }
        }
    }

    /// As if nothing had been sent since the keyframe: one decoder gets all of the stream, another what counts.
    /// Invariant: exact.
    @Test(arguments: [(320, 192), (100, 102), (642, 130)])
    func aKeyframeThatIsRepeatedTakesBackWhatWasPatched(size: (Int, Int)) throws {
        let size = PixelSize(width: size.0, height: size.1)
        var random = SplitMix(seed: UInt64(size.width))
        let stream = try Stream(size)
        for round in 0..<12 {
            var other = Decoder(.vp8)
            func isSame() -> Bool {
                stream.decoder.luma == other.luma && stream.decoder.u == other.u && stream.decoder.v == other.v
            }
            Scene.draw(round, into: &stream.picture)
            try stream.encode(nil, forceKeyframe: true) { _ = other.decode($0) }
            #expect(isSame())
            for repetition in 0..<3 {
                for step in 0..<Int.random(in: 0..<12, using: &random) {
                    stream.scribble(&random)
                    let rows = step % 5 == 4 ? Int.random(in: -16...16, using: &random) : 0
                    let scroll = rows == 0 ? nil : stream.scroll(stream.whole, by: rows)
                    var blocks = step % 4 == 3 ? BlockSet(size, side: BlockSet.macroblock) : stream.changed
                    if let scroll { blocks.subtract(scroll.blocks) }
                    let limit = step % 7 == 6 ? 20 : Int.max
                    if try stream.patch(blocks, scroll: scroll, limit: limit) == nil { break }
                }
                try stream.repeatKeyframe { if repetition == 2 { _ = other.decode($0) } }
                #expect(isSame() && stream.canPatch && stream.patched == nil, "repetition \(repetition)")
                // A patch builds on the keyframe alone, as it would for a receiver that has just come.
                stream.scribble(&random)
                var blocks = BlockSet(size, side: BlockSet.macroblock)
                blocks.insertAll()
                if repetition == 1 {
                    _ = try stream.patch(blocks) { _ = other.decode($0) }
                    #expect(isSame())
                }
            }
            for step in 0..<4 {
                Scene.draw(round * 4 + step, into: &stream.picture)
                try stream.encode(nil) { _ = other.decode($0) }
                #expect(isSame())
                #expect(stream.encoder.repeatableQuantizer == nil)
            }
        }
    }

    /// A vector of VP8 has ten bits in quarters of a pixel. What moves further is left to the encoder.
    @Test(arguments: [254, 255, 256, 257, 258, 259, 270, 300, 511, 512, 513, 514, 515])
    func whatMovesFarIsShownAsItIs(distance: Int) throws {
        let size = PixelSize(width: 64, height: 800)
        for rows in [distance, -distance] {
            let stream = try Stream(size)
            var random = SplitMix(seed: UInt64(distance))
            Scene.draw(0, into: &stream.picture)
            for _ in 0..<80 { stream.scribble(&random) }
            for step in 0..<20 { try stream.encode(nil, forceKeyframe: step == 0) }
            let scroll = try #require(stream.scroll(PixelRect(size), by: rows))
            let blocks = stream.changed.subtracting(scroll.blocks)
            if try stream.patch(blocks, scroll: scroll) == nil { for _ in 0..<10 { try stream.encode(nil) } }
            check(stream, BlockSet(size, side: BlockSet.macroblock))
            // What shows other rows than it should is 10 dB from it.
            #expect(peakSignalToNoiseRatio(stream.picture, stream.decoder.luma) > 25)
        }
    }

    @Test func aPatchBeyondItsLimitLeavesTheFieldToTheEncoder() throws {
        let size = PixelSize(width: 320, height: 192)
        let stream = try Stream(size)
        #expect(!stream.canPatch)
        Scene.draw(0, into: &stream.picture)
        try stream.encode(nil, forceKeyframe: true)
        #expect(stream.canPatch)
        Scene.drawNoise(1, into: &stream.picture)
        var all = BlockSet(size, side: BlockSet.macroblock)
        all.insertAll()
        #expect(try stream.patch(all, limit: 2000) == nil)
        #expect(!stream.canPatch)
        Scene.draw(1, into: &stream.picture)
        for _ in 0..<30 { try stream.encode(nil) }
        #expect(stream.canPatch && stream.patched == nil)
        #expect(peakSignalToNoiseRatio(stream.picture, stream.decoder.luma) > 36)
    }

    @Test func bitsComeBackAsTheyWere() {
        var random = SplitMix(seed: 4)
        for _ in 0..<300 {
            let bits = (0..<Int.random(in: 0...2000, using: &random)).map { _ -> (Bool, UInt8) in
                let probability = UInt8.random(in: 0...255, using: &random)
                return (UInt8.random(in: 0...255, using: &random) >= probability, probability)
            }
            var encoder = BoolEncoder()
            for (bit, probability) in bits { encoder.write(bit, probability) }
            encoder.finish()
            let bytes = encoder.bytes
            var decoder = BoolDecoder(bytes.span, from: 0)
            #expect(bits.allSatisfy { decoder.read($0.1) == $0.0 })
        }
    }

    @Test func longRunsOfOnesCarryThrough() {
        for count in [1, 7, 8, 9, 100, 5000] {
            var encoder = BoolEncoder()
            // The interval's lower end comes near the top, where an addition carries through all bytes before.
            for _ in 0..<count { encoder.write(true, 1) }
            for _ in 0..<50 { encoder.write(true, 255) }
            encoder.finish()
            let bytes = encoder.bytes
            var decoder = BoolDecoder(bytes.span, from: 0)
            #expect((0..<count).allSatisfy { _ in decoder.read(1) })
            #expect((0..<50).allSatisfy { _ in decoder.read(255) })
        }
    }

    @Test func theTransformsUndoEachOther() {
        var random = SplitMix(seed: 8)
        withUnsafeTemporaryAllocation(of: Int32.self, capacity: 16) { block in
            for _ in 0..<2000 {
                let wanted = (0..<16).map { _ in Int32.random(in: -255...255, using: &random) }
                for index in 0..<16 { block[index] = wanted[index] }
                BlockTransform.forwardCosine(block.baseAddress!)
                BlockTransform.inverseCosine(block.baseAddress!)
                #expect((0..<16).allSatisfy { abs(block[$0] - wanted[$0]) <= 2 })
                let means = wanted.map { $0 * 2 }
                for index in 0..<16 { block[index] = means[index] }
                BlockTransform.forwardWalsh(block.baseAddress!)
                BlockTransform.inverseWalsh(block.baseAddress!)
                #expect((0..<16).allSatisfy { abs(block[$0] - means[$0]) <= 2 })
            }
        }
    }
}

extension BlockSet {
    fileprivate func subtracting(_ other: BlockSet) -> BlockSet {
        var rest = self
        rest.subtract(other)
        return rest
    }
}

extension NV12Picture {
    fileprivate init(copying other: borrowing NV12Picture) {
        self.init(size: other.size)
        copy(PixelRect(other.size), from: other)
    }
}
