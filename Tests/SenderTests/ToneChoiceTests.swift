import Media
import Pixels
import TestSupport
import Testing
import Time

@testable import Sender

@Suite struct ToneChoiceTests {
    /// Pixels of some luma, the first as many as are not of the others.
    private func histogram(_ parts: [(luma: UInt8, share: Double)]) -> LumaHistogram {
        let size = PixelSize(width: 1600, height: 1600)
        var rows = [UInt8]()
        for (luma, share) in parts { rows += [UInt8](repeating: luma, count: Int((share * 10_000).rounded())) }
        // Each sample of 100 by 100 is one of these.
        var samples = [UInt8](repeating: parts[0].luma, count: size.width * size.height)
        for (index, luma) in rows.prefix(10_000).enumerated() {
            samples[(index / 100 * 16) * size.width + index % 100 * 16] = luma
        }
        return LumaHistogram(luma: samples.span.bytes, layout: NV12Layout(size: size))
    }

    private func choice(_ legibility: Legibility) -> ToneChoice {
        var choice = ToneChoice()
        #expect(choice.set(legibility) == (legibility != .off))
        return choice
    }

    /// - Parameters:
    ///   - brightest: of the text on a background of luma 20.
    ///   - scale: in 32nds; nil if the picture stays as it is.
    @Test(
        arguments: [
            (.auto, 50, 128), (.auto, 70, 128), (.auto, 80, 96), (.auto, 125, 64), (.auto, 160, 48), (.auto, 190, nil),
            (.auto, 235, nil), (.on, 235, 32), (.on, 70, 128), (.off, 50, nil),
        ] as [(Legibility, Int, Int?)]
    )
    func darkPicturesWithoutContrastAreBrightened(_ legibility: Legibility, brightest: Int, scale: Int?) {
        var choice = choice(legibility)
        choice.note(histogram([(20, 0.9), (UInt8(brightest), 0.1)]), isFirst: true, at: .start)
        #expect(choice.tone?.scale == scale)
    }

    /// Whatever its contrast.
    @Test(arguments: [[(UInt8(70), 1.0)], [(120, 0.5), (140, 0.5)], [(235, 0.9), (16, 0.1)]]) func brightPicturesStay(
        parts: [(UInt8, Double)]
    ) {
        var choice = choice(.auto)
        choice.note(histogram(parts), isFirst: true, at: .start)
        #expect(choice.tone == nil)
    }

    /// A few bright pixels, as of a pointer or a lamp, do not count.
    @Test(arguments: [(0.0015, true), (0.004, false)]) func aLampDoesNotCount(share: Double, isBrightened: Bool) {
        var choice = choice(.auto)
        choice.note(histogram([(20, 0.9), (60, 0.1 - share), (235, share)]), isFirst: true, at: .start)
        #expect((choice.tone != nil) == isBrightened)
    }

    /// What gets darker is brightened after a second, and what gets brighter is left alone at once.
    @Test func aPictureThatGetsDarkerWaits() throws {
        var choice = choice(.auto)
        let (bright, dark) = (histogram([(200, 1)]), histogram([(20, 0.9), (60, 0.1)]))
        choice.note(bright, isFirst: true, at: .start)
        #expect(choice.tone == nil && choice.dueAt == nil)
        choice.note(dark, isFirst: false, at: .seconds(10))
        #expect(choice.tone == nil && choice.dueAt == .seconds(11))
        choice.note(dark, isFirst: false, at: .milliseconds(10_900))
        #expect(choice.tone == nil)
        choice.note(dark, isFirst: false, at: .seconds(11))
        #expect(choice.tone?.scale == 128 && choice.dueAt == nil)
        choice.note(bright, isFirst: false, at: .milliseconds(11_033))
        #expect(choice.tone == nil)
    }

    /// The least that was wanted in that second.
    @Test func aFadeIsFollowedOnce() {
        var choice = choice(.on)
        choice.note(histogram([(20, 0.9), (235, 0.1)]), isFirst: true, at: .start)
        #expect(choice.tone?.scale == 32)
        for step in 0...30 {
            let brightest = UInt8(235 - 6 * step)
            choice.note(histogram([(20, 0.9), (brightest, 0.1)]), isFirst: false, at: .milliseconds(33 * Double(step)))
            #expect(choice.tone?.scale == 32, "\(step)")
        }
        let end = histogram([(20, 0.9), (55, 0.1)])
        choice.note(end, isFirst: false, at: .seconds(2))
        #expect(choice.tone.map { $0.scale < 64 } ?? false, "\(String(describing: choice.tone))")
        // What it ends with is brightened as far as it can be, a second later.
        #expect(choice.dueAt == .seconds(3))
        choice.note(end, isFirst: false, at: .seconds(3))
        #expect(choice.tone?.scale == 128 && choice.dueAt == nil)
    }

    /// Between the two means nothing changes.
    @Test func aPictureAtTheEdgeStaysAsItIs() {
        var choice = choice(.auto)
        let edge = histogram([(56, 1)])
        choice.note(edge, isFirst: true, at: .start)
        #expect(choice.tone == nil)
        choice.note(histogram([(30, 1)]), isFirst: true, at: .seconds(1))
        let tone = choice.tone
        #expect(tone != nil)
        choice.note(edge, isFirst: false, at: .seconds(2))
        #expect(choice.tone != nil)
        choice.note(histogram([(70, 1)]), isFirst: false, at: .seconds(3))
        #expect(choice.tone == nil)
    }

    @Test func offEndsIt() {
        var choice = choice(.on)
        choice.note(histogram([(20, 1)]), isFirst: true, at: .start)
        #expect(choice.tone != nil)
        let isNews = choice.set(.off)
        #expect(isNews && choice.tone == nil && !choice.isOn)
        let isNewsAgain = choice.set(.off)
        #expect(!isNewsAgain)
    }
}
