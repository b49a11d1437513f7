import Media
import Pixels
import TestSupport
import Testing
import Time
import VideoEncoding

@testable import Sender

/// Pictures of flat colours at rest, after motion beside them, in virtual time.
@Suite struct RestingPictureTests {
    /// Cells of random colours, of which one changes at each step, and a square that travels over them.
    private struct Scene: ~Copyable {
        private static let size = PixelSize(width: 640, height: 368)
        private static let cell = 80
        private static let edge = 16

        private let stream: VideoStream
        private var now: Instant
        private var capturedAt: Instant
        private var picture = NV12Picture(size: size)
        private var statistics = SenderStatistics()
        private var random: SplitMix
        private var square = 0

        init(_ codec: VideoCodec, seed: UInt64) throws {
            let start = Instant.seconds(1000) + .nanoseconds(Int(seed * 987_654_321 % 1_000_000_000))
            now = start
            stream = try VideoStream(
                Rendition(
                    id: Rendition.ID(0),
                    codec: codec,
                    width: Self.size.width,
                    height: Self.size.height,
                    framesPerSecond: 30,
                    bitrate: [200_000, 600_000, 1_200_000, 2_500_000][Int(seed % 4)]
                ),
                SenderSettings(wakesEarly: true, keyframeInterval: nil),
                clock: { start }
            )
            random = SplitMix(seed: seed)
            capturedAt = now
            for y in stride(from: 0, to: Self.size.height, by: Self.cell) {
                for x in stride(from: 0, to: Self.size.width, by: Self.cell) { fillCell(x, y) }
            }
            var all = BlockSet(Self.size, side: BlockSet.macroblock)
            all.insertAll()
            stream.noteNewPicture(all, nil)
        }

        /// - Parameter duration: how long the picture then stays.
        mutating func move(every duration: Duration) throws {
            var changed = BlockSet(Self.size, side: BlockSet.macroblock)
            let (columns, rows) = (Self.size.width / Self.cell, Self.size.height / Self.cell)
            let (x, y) = (Int(random.next() % UInt64(columns)), Int(random.next() % UInt64(rows)))
            changed.insert(fillCell(x * Self.cell, y * Self.cell))
            changed.insert(fill(squareFrame, random.next() % 2 == 0 ? 60 : 90, 128, 160))
            square += 1
            changed.insert(fill(squareFrame, 90, 90, 220))
            capturedAt = now
            stream.noteNewPicture(changed, nil)
            try rest(for: duration)
        }

        /// Does what the loop does, at each instant at which there is something to do.
        mutating func rest(for duration: Duration) throws {
            let end = now + duration
            while true {
                let action = stream.action(at: now)
                if action != .nothing {
                    _ = try stream.encode(picture, capturedAt: capturedAt, action, now: now, &statistics) { _, _ in }
                }
                let next = max(stream.repetition, now + .milliseconds(1))
                if next >= end { break }
                now = next
            }
            now = end
        }

        private var squareFrame: PixelRect {
            let (across, down) = (Self.size.width - 80, 80)
            return PixelRect(x: 4 + square * 7 % across & ~1, y: 160 + square * 3 % down & ~1, width: 72, height: 72)
        }

        /// Returns the changed rectangle.
        @discardableResult private mutating func fillCell(_ x: Int, _ y: Int) -> PixelRect {
            let height = min(Self.cell, Self.size.height - y)
            let colours = (0..<3).map { _ in UInt8(16 + random.next() % 220) }
            return fill(
                PixelRect(x: x, y: y, width: Self.cell, height: height),
                colours[0],
                colours[1],
                colours[2]
            )
        }

        private mutating func fill(_ area: PixelRect, _ y: UInt8, _ u: UInt8, _ v: UInt8) -> PixelRect {
            let layout = picture.layout
            picture.withMutablePlanes { luma, chroma in
                for row in area.y..<area.y + area.height {
                    for column in area.x..<area.x + area.width {
                        luma.storeBytes(of: y, toByteOffset: layout.lumaOffset(x: column, y: row), as: UInt8.self)
                    }
                }
                for row in area.y / 2..<(area.y + area.height) / 2 {
                    for column in area.x / 2..<(area.x + area.width) / 2 {
                        let offset = layout.chromaStride * row + 2 * column
                        chroma.storeBytes(of: u, toByteOffset: offset, as: UInt8.self)
                        chroma.storeBytes(of: v, toByteOffset: offset + 1, as: UInt8.self)
                    }
                }
            }
            return area
        }

        /// The largest difference of decoders' picture in any component, a macroblock and more from the next edge of a colour.
        func worst() -> (off: Int, x: Int, y: Int) {
            var (reference, wanted) = (PlanarPicture(), PlanarPicture())
            guard stream.copyReference(into: &reference) else { return (255, 0, 0) }
            wanted.copy(picture)
            let width = Self.size.width
            var worst = (off: 0, x: 0, y: 0)
            for y in Self.edge..<Self.size.height - Self.edge {
                for x in Self.edge..<width - Self.edge {
                    let (pixel, half) = (y * width + x, y / 2 * (width / 2) + x / 2)
                    let here = max(
                        abs(Int(reference.y[pixel]) - Int(wanted.y[pixel])),
                        abs(Int(reference.u[half]) - Int(wanted.u[half])),
                        abs(Int(reference.v[half]) - Int(wanted.v[half]))
                    )
                    guard here > worst.off else { continue }
                    let isFlat = [-1, 0, 1].allSatisfy { down in
                        [-1, 0, 1].allSatisfy { across in
                            let (x, y) = (x + across * Self.edge, y + down * Self.edge)
                            let chroma = y / 2 * (width / 2) + x / 2
                            return wanted.y[y * width + x] == wanted.y[pixel] && wanted.u[chroma] == wanted.u[half]
                                && wanted.v[chroma] == wanted.v[half]
                        }
                    }
                    if isFlat { worst = (here, x, y) }
                }
            }
            return worst
        }
    }

    /// Half of the places that the square leaves differ from it in chroma alone.
    @Test(
        arguments: [
            (.vp8, 1...20, 6), (.vp9, 1...40, 10), (.av1, 29...60, 32),
        ] as [(VideoCodec, ClosedRange<UInt64>, Int)]
    )
    func flatColoursAreRightAtRest(codec: VideoCodec, seeds: ClosedRange<UInt64>, most: Int) throws {
        for seed in seeds {
            var scene = try Scene(codec, seed: seed)
            var random = SplitMix(seed: seed)
            try scene.rest(for: .milliseconds(Int.random(in: 100...3000, using: &random)))
            for _ in 0..<Int.random(in: 5...60, using: &random) {
                try scene.move(every: .milliseconds(Int.random(in: 33...300, using: &random)))
            }
            try scene.rest(for: .seconds(12))
            let worst = scene.worst()
            #expect(worst.off <= most, "\(seed): \(worst)")
        }
    }
}
