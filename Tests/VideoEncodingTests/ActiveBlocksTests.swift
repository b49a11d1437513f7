import Differential
import Media
import Pixels
import TestSupport
import Testing
import Time
import VideoEncoding

/// Frames of AV1 of which only some macroblocks are encoded.
@Suite struct ActiveBlocksTests {
    /// Which macroblocks are active.
    enum Choice: CaseIterable {
        case upperHalf, everySecond, lastColumnAndRow, aFew, none

        func blocks(of size: PixelSize) -> BlockSet {
            var blocks = BlockSet(size, side: BlockSet.macroblock)
            for row in 0..<blocks.rows {
                for column in 0..<blocks.columns where contains(column, row, blocks) {
                    blocks.insert(column: column, row: row)
                }
            }
            return blocks
        }

        private func contains(_ column: Int, _ row: Int, _ all: BlockSet) -> Bool {
            switch self {
            case .upperHalf: row < all.rows / 2
            case .everySecond: (column + row) % 2 == 1
            case .lastColumnAndRow: column == all.columns - 1 || row == all.rows - 1
            case .aFew: 3...4 ~= column && 2...3 ~= row
            case .none: false
            }
        }
    }

    /// Of the first scene, as coarse as a page on a thin link.
    private struct Stream: ~Copyable {
        var encoder: VideoEncoder
        var decoder = Decoder(.av1)
        var picture: NV12Picture
        private var time = Instant.seconds(1)

        init(_ size: PixelSize) throws {
            encoder = try VideoEncoder(VideoEncoderConfiguration(codec: .av1, size: size, targetBitrate: 600_000))
            picture = NV12Picture(size: size)
        }

        /// Returns the frame's bytes; nil if it was dropped.
        mutating func encode(
            _ quantizer: Int? = nil,
            active: BlockSet? = nil,
            isThorough: Bool = false
        ) throws -> Int? {
            time += .milliseconds(33)
            return try encoder.encode(
                picture,
                presentationTime: time,
                quantizers: quantizer.map { $0...$0 },
                active: active,
                isThorough: isThorough
            ) { _, data in
                let isDecoded = decoder.decode(data)
                #expect(isDecoded)
                return data.count
            }
        }
    }

    private static let sizes = [(320, 180), (322, 178), (338, 202), (64, 64)].map { PixelSize(width: $0, height: $1) }

    /// Also at the right and lower edge, where macroblocks are cut off.
    @Test(arguments: sizes, Choice.allCases)
    func whatIsNotActiveStaysAsItWasShown(size: PixelSize, choice: Choice) throws {
        for isThorough in [false, true] {
            var stream = try Stream(size)
            Scene.draw(0, into: &stream.picture)
            _ = try stream.encode(50)
            let before = stream.decoder.picture
            let active = choice.blocks(of: size)
            Scene.draw(5, into: &stream.picture)
            let count = try stream.encode(30, active: active, isThorough: isThorough)
            let after = stream.decoder.picture
            var wanted = PlanarPicture()
            wanted.copy(stream.picture)
            #expect(meanSquare(after, before, active, isInSet: false) < 0.5)
            #expect(meanSquare(after, wanted, active, isInSet: true) < 40)
            if choice == .none { #expect(try #require(count) <= 200) }
            // The encoder knows what is shown.
            var reference = PlanarPicture()
            let hasReference = stream.encoder.copyReference(into: &reference)
            #expect(hasReference && reference == after)
        }
    }

    /// However coarse it is, and however fine the quantizer.
    @Test(arguments: sizes) func nothingToEncodeCostsNothing(size: PixelSize) throws {
        var stream = try Stream(size)
        Scene.draw(0, into: &stream.picture)
        _ = try stream.encode(60)
        let before = stream.decoder.picture
        for quantizer in [16, 30, 63] {
            let count = try stream.encode(quantizer, active: Choice.none.blocks(of: size))
            #expect(try #require(count) <= 200)
        }
        let everything = Choice.none.blocks(of: size)
        #expect(meanSquare(stream.decoder.picture, before, everything, isInSet: false) < 0.5)
    }

    /// A part that is encoded finely leaves no debt to the other.
    @Test func partsMakeAWholeForTheBytesOfTheWhole() throws {
        let size = PixelSize(width: 320, height: 176)
        var whole = try Stream(size)
        var parts = try Stream(size)
        Scene.draw(3, into: &whole.picture)
        Scene.draw(3, into: &parts.picture)
        let first = try whole.encode(58)
        #expect(try parts.encode(58) == first)
        let bytes = try #require(try whole.encode(30))
        var sum = 0
        for row in 0..<11 {
            var active = BlockSet(size, side: BlockSet.macroblock)
            active.insert(columns: 0..<20, rows: row..<row + 1)
            sum += try #require(try parts.encode(30, active: active))
        }
        #expect(sum < bytes * 3 / 2 + 11 * 50, "\(sum) beside \(bytes) bytes")
        #expect(peakSignalToNoiseRatio(parts.picture, parts.decoder.luma) > 35)
    }

    @Test(arguments: [44, 52]) func aThoroughKeyframeIsSmallerAndBetter(quantizer: Int) throws {
        let size = PixelSize(width: 640, height: 368)
        var results: [(bytes: Int, quality: Double)] = []
        for isThorough in [false, true] {
            var stream = try Stream(size)
            Scene.draw(0, into: &stream.picture)
            let bytes = try #require(try stream.encode(quantizer, isThorough: isThorough))
            results.append((bytes, peakSignalToNoiseRatio(stream.picture, stream.decoder.luma)))
        }
        #expect(results[1].bytes < results[0].bytes && results[1].quality > results[0].quality, "\(results)")
    }

    /// The mean square of differences of luma and chroma in macroblocks that are active, or that are not; 0 if there are none.
    private func meanSquare(_ first: PlanarPicture, _ second: PlanarPicture, _ active: BlockSet, isInSet: Bool)
        -> Double
    {
        let width = active.size.width
        var (sum, count) = (0, 0)
        func compare(_ first: [UInt8], _ second: [UInt8], width: Int, side: Int) {
            for index in first.indices {
                let (row, column) = index.quotientAndRemainder(dividingBy: width)
                guard active.contains(column: column / side, row: row / side) == isInSet else { continue }
                let difference = Int(first[index]) - Int(second[index])
                sum += difference * difference
                count += 1
            }
        }
        compare(first.y, second.y, width: width, side: 16)
        compare(first.u, second.u, width: width / 2, side: 8)
        compare(first.v, second.v, width: width / 2, side: 8)
        return count == 0 ? 0 : Double(sum) / Double(count)
    }
}
