import FrameBridge
import Glibc
import Media
import Pixels
import Posix
import TestSupport
import Testing
import Time
import VideoEncoding

@testable import Sender

/// A stream of pictures in virtual time, from now on.
@Suite struct VideoStreamTests {
    private final class Call {
        var frames: [(at: Instant, bytes: [UInt8], isKeyframe: Bool)] = []
    }

    private struct Scene: ~Copyable {
        static let size = PixelSize(width: 640, height: 368)
        let call = Call()
        let stream: VideoStream
        let start: Instant = MonotonicClock.now()
        var now: Instant
        var capturedAt: Instant
        var picture = NV12Picture(size: size)
        var statistics = SenderStatistics()
        var generator = SplitMix(seed: 3)

        init(_ codec: VideoCodec = .vp8, keyframeInterval: Duration?, bitrate: Int = 2_500_000) throws {
            stream = try VideoStream(
                Rendition(
                    id: Rendition.ID(0),
                    codec: codec,
                    width: Self.size.width,
                    height: Self.size.height,
                    framesPerSecond: 30,
                    bitrate: bitrate
                ),
                SenderSettings(wakesEarly: true, keyframeInterval: keyframeInterval)
            )
            (now, capturedAt) = (start, start)
        }

        /// One that has shown a page of text for so long.
        static func ofText(
            for time: Duration,
            keyframeInterval: Duration,
            bitrate: Int = 2_500_000
        ) throws -> Scene {
            var scene = try Scene(keyframeInterval: keyframeInterval, bitrate: bitrate)
            scene.write(PixelRect(size))
            try scene.run(until: scene.start + time)
            return scene
        }

        /// Fills a part of the picture with what looks like text.
        mutating func write(_ region: PixelRect) {
            let layout = picture.layout
            var changed = BlockSet(Self.size, side: BlockSet.macroblock)
            changed.insert(region)
            picture.withMutablePlanes { luma, _ in
                for y in region.y..<region.y + region.height {
                    for x in region.x..<region.x + region.width {
                        let value: UInt8 = generator.next() % 16 == 0 ? 30 : 230
                        luma.storeBytes(of: value, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                    }
                }
            }
            capturedAt = now
            stream.noteNewPicture(changed, nil)
        }

        /// Fills a part of the picture with what looks like text with smooth edges: AV1 codes few colours without loss.
        mutating func writeSmoothly(_ region: PixelRect) {
            let layout = picture.layout
            var changed = BlockSet(Self.size, side: BlockSet.macroblock)
            changed.insert(region)
            var ink = (before: 0, here: 0, next: 0)
            picture.withMutablePlanes { luma, _ in
                for y in region.y..<region.y + region.height {
                    for x in region.x..<region.x + region.width {
                        ink = (ink.here, ink.next, generator.next() % 16 == 0 ? Int(generator.next() % 200) : 0)
                        let value = UInt8(230 - (ink.before + 2 * ink.here + ink.next) / 4)
                        luma.storeBytes(of: value, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                    }
                }
            }
            capturedAt = now
            stream.noteNewPicture(changed, nil)
        }

        /// Moves the picture up, with nothing from below.
        mutating func scroll(by rows: Int) {
            var before = NV12Picture(size: Self.size)
            before.copy(PixelRect(Self.size), from: picture)
            let layout = picture.layout
            picture.withMutablePlanes { luma, _ in
                before.withPlanes { old, _ in
                    for y in 0..<Self.size.height {
                        for x in 0..<Self.size.width {
                            let source = layout.lumaOffset(x: x, y: y + rows)
                            let isInside = y + rows < Self.size.height
                            let value = isInside ? old.unsafeLoad(fromByteOffset: source, as: UInt8.self) : 230
                            luma.storeBytes(of: value, toByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                        }
                    }
                }
            }
            var changed = BlockSet(Self.size, side: BlockSet.macroblock)
            var scroll = Scroll(rows: rows, blocks: changed, tinted: changed)
            let whole = PixelRect(Self.size)
            picture.findBlocksMoved(in: whole, from: before, rows: rows, &scroll.blocks, tinted: &scroll.tinted)
            changed.insertAll()
            capturedAt = now
            stream.noteNewPicture(changed, scroll)
        }

        /// A scene of AV1 over a thin link, with a page that has become sharp.
        static func ofAV1(linkRate: Int) throws -> Scene {
            var scene = try Scene(.av1, keyframeInterval: nil)
            try scene.stream.setBitrate(linkRate)
            scene.stream.setLink(linkRate)
            scene.writeSmoothly(PixelRect(size))
            try scene.run(until: scene.start + .seconds(12))
            return scene
        }

        /// How near what decoders have is to the picture's first rows, in dB of luma.
        func sharpness(rows: Int) -> Double {
            var reference = PlanarPicture()
            guard stream.copyReference(into: &reference) else { return 0 }
            let layout = picture.layout
            var squares = 0
            picture.withPlanes { luma, _ in
                for y in 0..<rows {
                    for x in 0..<Self.size.width {
                        let wanted = luma.unsafeLoad(fromByteOffset: layout.lumaOffset(x: x, y: y), as: UInt8.self)
                        let difference = Int(reference.y[y * Self.size.width + x]) - Int(wanted)
                        squares += difference * difference
                    }
                }
            }
            return 10 * log10(255 * 255 * Double(rows * Self.size.width) / Double(max(squares, 1)))
        }

        /// Does what the loop does, at each instant at which there is something to do.
        mutating func run(until end: Instant) throws {
            while true {
                let action = stream.action(at: now)
                if action != .nothing {
                    _ = try stream.encode(
                        picture,
                        capturedAt: capturedAt,
                        action,
                        now: now,
                        &statistics
                    ) { [call] bytes, frame in
                        let copy = bytes.withUnsafeBufferPointer { Array($0) }
                        call.frames.append((frame.capturedAt, copy, frame.isKeyframe))
                    }
                }
                let next = max(stream.repetition, now + .milliseconds(1))
                if next >= end { break }
                now = next
            }
            now = end
        }
    }

    /// The first keyframe of the picture at rest is as fine as it will be; those after it are the same again.
    /// Invariant: firstPicture.
    @Test func aKeyframeOfAPictureAtRestIsEncodedOnce() throws {
        var scene = try Scene(keyframeInterval: .seconds(5))
        scene.write(PixelRect(x: 40, y: 40, width: 400, height: 200))
        try scene.run(until: scene.start + .seconds(26))
        var keyframes = scene.call.frames.filter(\.isKeyframe).map(\.bytes)
        try #require(keyframes.count == 6)
        #expect(keyframes[1] != keyframes[0] && keyframes[2...].allSatisfy { $0 == keyframes[1] })
        #expect(scene.statistics.keyframes == 6 && scene.statistics.keyframesRepeated == 4)
        // Nothing is to be refined after it.
        let later = scene.call.frames.filter { $0.at > scene.start + .seconds(6) && !$0.isKeyframe }
        #expect(later.count <= 2 * 5 && later.allSatisfy { $0.bytes.count < 100 })

        scene.write(PixelRect(x: 80, y: 80, width: 16, height: 16))
        try scene.run(until: scene.start + .seconds(37))
        keyframes = scene.call.frames.filter(\.isKeyframe).map(\.bytes)
        try #require(keyframes.count == 8)
        #expect(keyframes[6] != keyframes[5] && keyframes[7] == keyframes[6])
    }

    /// A receiver that cannot ask for keyframes comes to others, and leaves again.
    @Test func keyframesComeAsLongAsSomebodyCannotAsk() throws {
        var scene = try Scene(keyframeInterval: nil)
        scene.write(PixelRect(x: 40, y: 40, width: 400, height: 200))
        for (second, interval, keyframes) in [(8, nil, 1), (20, 5, 4), (30, nil, 4)] as [(Double, Int?, Int)] {
            scene.stream.setKeyframeInterval(interval.map { .seconds($0) })
            try scene.run(until: scene.start + .seconds(second))
            #expect(scene.statistics.keyframes == keyframes)
        }
        // What was set is not made longer.
        scene = try Scene(keyframeInterval: .seconds(2))
        scene.write(PixelRect(x: 40, y: 40, width: 400, height: 200))
        scene.stream.setKeyframeInterval(.seconds(5))
        try scene.run(until: scene.start + .seconds(9))
        #expect(scene.statistics.keyframes == 5)
    }

    /// Up and down, with pictures that take all that there is.
    @Test func anotherBitrateIsFollowedWithoutAKeyframe() throws {
        var scene = try Scene(keyframeInterval: nil, bitrate: 1_200_000)
        var rates: [Int] = []
        for bitrate in [1_200_000, 600_000, 1_200_000] {
            try scene.stream.setBitrate(bitrate)
            // Rate control evens out over seconds.
            var count = 0
            for frame in 0..<180 {
                if frame == 90 { count = scene.call.frames.count }
                scene.write(PixelRect(x: 32, y: 32, width: 160, height: 96))
                try scene.run(until: scene.now + .seconds(1) / 30)
            }
            rates.append(scene.call.frames[count...].reduce(0) { $0 + $1.bytes.count * 8 } / 3)
        }
        #expect(rates[1] * 3 / 2 < min(rates[0], rates[2]), "\(rates) bits a second")
        #expect(scene.statistics.keyframes == 1)
        #expect(throws: VideoEncoderError.self) { try scene.stream.setBitrate(1) }
    }

    /// A small change while the rest gets sharper: no frame that is slow to encode stands before it or carries it.
    @Test func aSmallChangeGoesOutAloneAndAtOnce() throws {
        var scene = try Scene(keyframeInterval: nil)
        scene.write(PixelRect(x: 0, y: 0, width: 640, height: 368))
        try scene.run(until: scene.start + .milliseconds(200))
        let count = scene.call.frames.count
        scene.write(PixelRect(x: 80, y: 80, width: 16, height: 16))
        try scene.run(until: scene.now + .milliseconds(2))
        #expect(scene.call.frames.count == count + 1)
        #expect(scene.call.frames.last!.bytes.count < 1000)
        try scene.run(until: scene.start + .seconds(10))
        // In the end all is fine.
        #expect(scene.call.frames.last!.bytes.count < 100)
    }

    /// Text is moved as coarse as it is, so that a keyframe that comes while it scrolls is as fine as one of text at rest.
    @Test func aKeyframeOfWhatScrollsIsSharp() throws {
        var scene = try Scene.ofText(for: .milliseconds(2500), keyframeInterval: .seconds(1))
        let count = scene.call.frames.count
        for _ in 0..<120 {
            scene.scroll(by: 2)
            try scene.run(until: scene.now + .nanoseconds(33_333_333))
            #expect(scene.sharpness(rows: 64) > 45)
        }
        #expect(scene.call.frames[count...].count(where: \.isKeyframe) >= 4)
    }

    /// Where the bitrate is too low for that, what is moved gets better with every frame.
    @Test func whatScrollsGetsSharp() throws {
        var scene = try Scene.ofText(for: .milliseconds(5900), keyframeInterval: .seconds(6), bitrate: 400_000)
        let count = scene.call.frames.count
        for step in 0..<60 {
            scene.scroll(by: 2)
            try scene.run(until: scene.now + .nanoseconds(33_333_333))
            if step == 10 { #expect(scene.sharpness(rows: 64) < 45) }
        }
        #expect(scene.call.frames[count...].count(where: \.isKeyframe) == 1)
        #expect(scene.sharpness(rows: 64) > 47)
    }

    /// A page over a thin link: one frame that can be read, small parts after it, and in the end all is fine.
    @Test(arguments: [300_000, 1_000_000, 4_000_000])
    func overAThinLinkAPageIsThereAtOnceAndThenGetsSharp(linkRate: Int) throws {
        var scene = try Scene(keyframeInterval: nil)
        try scene.stream.setBitrate(min(linkRate, 2_500_000))
        scene.stream.setLink(linkRate)
        scene.write(PixelRect(x: 16, y: 16, width: 16, height: 16))
        try scene.run(until: scene.start + .seconds(20))
        let count = scene.call.frames.count
        scene.write(PixelRect(Scene.size))
        try scene.run(until: scene.now + .milliseconds(2))
        #expect(scene.call.frames.count == count + 1)
        let first = scene.sharpness(rows: Scene.size.height)
        #expect(first > 12, "it is another page")
        try scene.run(until: scene.now + .seconds(120))
        let parts = scene.call.frames[(count + 1)...].map(\.bytes.count)
        #expect(parts.max()! <= max(linkRate / 8 / 3, 4000), "\(parts.max()!) bytes")
        #expect(scene.sharpness(rows: Scene.size.height) > 40)
        #expect(parts.last! < 100)
        // What is sent fits through.
        let rate = Double(parts.reduce(0, +) * 8) / 120
        #expect(rate <= Double(linkRate))
        #expect(scene.statistics.keyframes == 1)
    }

    /// A keyframe that can be read at once, as that is the smallest, and then parts: no refinement has more than its share.
    @Test func aPageOfAV1IsAKeyframeAndThenGetsSharpInParts() throws {
        let linkRate = 300_000
        var scene = try Scene.ofAV1(linkRate: linkRate)
        let count = scene.call.frames.count
        scene.writeSmoothly(PixelRect(Scene.size))
        try scene.run(until: scene.now + .milliseconds(2))
        #expect(scene.call.frames.count == count + 1)
        #expect(scene.call.frames.last!.isKeyframe)
        let first = scene.sharpness(rows: Scene.size.height)
        #expect(first > 27)
        try scene.run(until: scene.now + .seconds(12))
        let parts = scene.call.frames[(count + 1)...]
        #expect(parts.allSatisfy { !$0.isKeyframe })
        let largest = parts.map(\.bytes.count).max()!
        #expect(largest <= linkRate / 8 / 3, "\(largest) bytes")
        #expect(scene.sharpness(rows: Scene.size.height) > max(first + 2, 33))
        #expect(parts.last!.bytes.count <= 200)
    }

    /// What stays as it is does not get coarse for it, nor does it cost anything.
    @Test func halfAPageOfAV1LeavesTheOtherHalfAsItIs() throws {
        var scene = try Scene.ofAV1(linkRate: 300_000)
        let sharp = scene.sharpness(rows: 176)
        #expect(sharp > 33)
        let count = scene.call.frames.count
        scene.writeSmoothly(PixelRect(x: 0, y: 192, width: Scene.size.width, height: 176))
        try scene.run(until: scene.now + .seconds(6))
        let frames = scene.call.frames[count...]
        #expect(frames.count > 1 && frames.allSatisfy { !$0.isKeyframe })
        #expect(scene.sharpness(rows: 176) > sharp - 1)
        #expect(scene.sharpness(rows: Scene.size.height) > 33)
    }

    /// A page of which a part stays as it is does not become coarse as a whole: the rest that is not yet sharp has its turn later.
    @Test func aPartOfAPageOfAV1IsNoPage() throws {
        var scene = try Scene.ofAV1(linkRate: 300_000)
        scene.writeSmoothly(PixelRect(x: 0, y: 0, width: Scene.size.width, height: 208))
        try scene.run(until: scene.now + .milliseconds(1200))
        let (count, keyframes) = (scene.call.frames.count, scene.statistics.keyframes)
        scene.writeSmoothly(PixelRect(x: 0, y: 160, width: Scene.size.width, height: 208))
        try scene.run(until: scene.now + .milliseconds(500))
        #expect(scene.call.frames.count > count)
        #expect(scene.statistics.keyframes == keyframes)
    }

    /// While nobody knows what the link carries, the first picture is small, and nothing is refined.
    @Test(arguments: [300_000, 12_500_000])
    func aLinkIsMeasuredByAPictureThatCanBeRead(linkRate: Int) throws {
        var scene = try Scene(keyframeInterval: nil)
        scene.stream.setLink(nil, isMeasuring: true)
        scene.write(PixelRect(Scene.size))
        try scene.run(until: scene.start + .milliseconds(400))
        let first = try #require(scene.call.frames.first)
        #expect(scene.call.frames.count == 1)
        #expect(first.isKeyframe)
        let (coarse, before) = (scene.sharpness(rows: Scene.size.height), first.bytes.count)
        scene.stream.setLink(linkRate)
        try scene.run(until: scene.now + .milliseconds(40))
        let next = scene.call.frames[1...]
        #expect(!next.isEmpty)
        #expect(next.allSatisfy { !$0.isKeyframe })
        if linkRate > 5_000_000 {
            #expect(next.first!.bytes.count > before / 2, "the whole picture follows")
            #expect(scene.sharpness(rows: Scene.size.height) > max(coarse + 5, 38))
        } else {
            #expect(next.allSatisfy { $0.bytes.count < linkRate / 8 / 3 })
        }
        try scene.run(until: scene.now + .seconds(60))
        #expect(scene.sharpness(rows: Scene.size.height) > 40)
        #expect(scene.statistics.keyframes == 1)
    }

    /// A receiver that never tells of the first packets gets a sharp picture too.
    @Test func whereNothingIsMeasuredRateControlGoesOn() throws {
        var scene = try Scene(keyframeInterval: nil)
        scene.stream.setLink(nil, isMeasuring: true)
        scene.write(PixelRect(Scene.size))
        try scene.run(until: scene.start + .seconds(2))
        #expect(scene.call.frames.count == 1)
        scene.stream.setLink(nil)
        try scene.run(until: scene.now + .seconds(20))
        #expect(scene.sharpness(rows: Scene.size.height) > 40)
    }

    /// Motion over a thin link goes on at the frame rate, as coarse as it must be.
    @Test func overAThinLinkMotionIsCoarse() throws {
        var scene = try Scene(keyframeInterval: nil)
        try scene.stream.setBitrate(300_000)
        scene.stream.setLink(300_000)
        scene.write(PixelRect(Scene.size))
        try scene.run(until: scene.start + .seconds(20))
        for _ in 0..<30 {
            scene.write(PixelRect(x: 32, y: 32, width: 160, height: 96))
            try scene.run(until: scene.now + .seconds(1) / 30)
        }
        let count = scene.call.frames.count
        for _ in 0..<90 {
            scene.write(PixelRect(x: 32, y: 32, width: 160, height: 96))
            try scene.run(until: scene.now + .seconds(1) / 30)
        }
        let frames = scene.call.frames[count...]
        #expect(frames.count == 90)
        #expect(frames.reduce(0) { $0 + $1.bytes.count * 8 } / 3 <= 1_000_000)
    }
}
