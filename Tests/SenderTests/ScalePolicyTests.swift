import Media
import TestSupport
import Testing
import Time

@testable import Sender
@testable import VideoEncoding

@Suite struct ScalePolicyTests {
    /// A film over a link: each frame waits until the one before has left.
    private struct Work {
        /// Bytes of a frame in full size with the coarsest quantizer: a film of 1280x720 in VP8.
        static let frameSize = 3300.0

        var policy = ScalePolicy(.vp8)
        var now = Instant.seconds(1000)
        var scales: [PictureScale] = [.full]

        mutating func note() {
            policy.update(keepsSize: false, at: now)
            if policy.scale == scales.last! { return }
            scales.append(policy.scale)
        }

        /// - Parameters:
        ///   - link: bits a second.
        ///   - share: of the picture, changes with each frame.
        ///   - rate: pictures a second.
        mutating func go(_ seconds: Double, share: Double = 1, rate: Double = 20, link: Double) {
            let end = now + .seconds(seconds)
            while now < end {
                let before = policy.scale
                policy.noteChange(share, at: now)
                let part = Double(policy.scale.rawValue) / 4
                let coarsest = Self.frameSize * part * part * max(share, 0.01)
                let available = link / 8 / rate
                // Rate control, with the bytes of text for want of a film's.
                let factor = max(available / coarsest, 1)
                let quantizer = (8...63).last { VideoCodec.vp8.textBytes($0) >= 2 * factor } ?? 8
                let size = coarsest * VideoCodec.vp8.textBytes(quantizer) / 2
                let frame = EncodingResult(isKeyframe: false, quantizer: quantizer)
                policy.noteFrame(frame, byteCount: Int(size), bitrate: Int(link), at: now)
                note()
                pass(size * 8 / link, isFull: true)
                pass(1 / rate - size * 8 / link)
                // A keyframe is three times as large.
                if policy.scale != before { pass(3 * size * 8 / link, isFull: true) }
            }
        }

        mutating func pass(_ seconds: Double, isFull: Bool = false) {
            let end = now + .seconds(seconds)
            while now < end {
                now += .milliseconds(10)
                if isFull { policy.noteUnseen(at: now) }
                note()
            }
        }
    }

    @Test(
        arguments: [
            (1e6, .full), (300_000, .full), (200_000, .threeQuarters), (100_000, .half), (50_000, .half),
        ] as [(Double, PictureScale)]
    )
    func aFilmIsAsSmallAsTheLinkDemands(link: Double, scale: PictureScale) {
        var work = Work()
        work.go(60, link: link)
        #expect(work.policy.scale == scale)
        // One step after the other, and none back.
        #expect(work.scales == work.scales.sorted(by: >))
        // What rests is sent in full size.
        work.pass(0.75)
        #expect(work.policy.scale == .full)
        #expect(work.policy.deadline == nil)
    }

    @Test func aWiderLinkMakesItLargerAgain() {
        var work = Work()
        work.go(30, link: 100_000)
        #expect(work.policy.scale == .half)
        work.go(30, link: 250_000)
        #expect(work.policy.scale == .threeQuarters)
        work.go(30, link: 1_000_000)
        #expect(work.policy.scale == .full)
        #expect(work.scales.count == 5, "\(work.scales)")
    }

    @Test func theDeadlineIsWhenTheFilmEnds() throws {
        var work = Work()
        work.go(30, link: 100_000)
        let deadline = try #require(work.policy.deadline)
        work.policy.update(keepsSize: false, at: deadline - .nanoseconds(1))
        #expect(work.policy.scale == .half)
        work.policy.update(keepsSize: false, at: deadline)
        #expect(work.policy.scale == .full)
    }

    /// Of pages, of a window in which a film runs, and of what is typed beside, every letter is to be read.
    @Test(arguments: [(1.0, 1.4), (0.45, 20), (0.01, 10)]) func textIsNeverMadeSmaller(share: Double, rate: Double) {
        var work = Work()
        work.go(120, share: share, rate: rate, link: 60_000)
        #expect(work.scales == [.full])
    }

    /// The pointer moves over it.
    @Test func smallChangesDoNotEndAFilm() {
        var work = Work()
        work.go(30, link: 100_000)
        for _ in 0..<100 {
            work.go(0.3, link: 100_000)
            work.go(0.2, share: 0.001, rate: 30, link: 100_000)
        }
        #expect(work.scales == [.full, .threeQuarters, .half])
    }

    @Test func aSlowFilmIsNoReason() {
        var work = Work()
        work.go(60, rate: 5, link: 300_000)
        #expect(work.scales == [.full])
    }

    @Test func onePictureSizeForAllIsKept() {
        var work = Work()
        work.go(10, link: 100_000)
        #expect(work.policy.scale < .full)
        work.policy.update(keepsSize: true, at: work.now)
        #expect(work.policy.scale == .full)
    }

    /// A film that stops and goes on costs fewer and fewer keyframes.
    @Test func whatComesInBitsIsLeftAlone() {
        var work = Work()
        for _ in 0..<150 {
            work.go(3, link: 100_000)
            work.pass(1)
        }
        #expect(work.scales.count < 10, "\(work.scales.count)")
    }

    @Test func sizesAreEvenAndNeverNothing() {
        for (width, height) in [(1280, 720), (1366, 768), (2, 2), (6, 4), (8192, 4320)] {
            for scale in PictureScale.allCases {
                let rendition = Rendition(
                    id: Rendition.ID(0),
                    codec: .vp8,
                    width: width,
                    height: height,
                    framesPerSecond: 30,
                    bitrate: 1
                ).scaled(to: scale)
                #expect(rendition.width >= 2 && rendition.width.isMultiple(of: 2))
                #expect(rendition.height >= 2 && rendition.height.isMultiple(of: 2))
                #expect(abs(rendition.width * 4 - width * scale.rawValue) < 8 || rendition.width == 2)
            }
        }
    }
}
