import Pixels
import TestSupport
import Testing
import Time
import VideoEncoding

@testable import Sender

@Suite struct SharpnessTests {
    private let size = PixelSize(width: 640, height: 320)

    private func blocks(_ columns: Range<Int>, _ rows: Range<Int>) -> BlockSet {
        var blocks = BlockSet(size, side: BlockSet.macroblock)
        blocks.insert(columns: columns, rows: rows)
        return blocks
    }

    /// One whose picture is all as fine as this.
    private func sharpness(_ quantizer: Int) -> Sharpness {
        var sharpness = Sharpness(size, fineQuantizer: 8)
        #expect(!sharpness.isFine)
        sharpness.noteKeyframe(quantizer: quantizer)
        return sharpness
    }

    @Test func aFinePictureNeedsNothing() {
        var sharpness = sharpness(8)
        #expect(sharpness.isFine)
        sharpness.choose(isRefinement: true)
        #expect(sharpness.active.isEmpty)
        let polishes = sharpness.choosePolishing(most: 1000)
        #expect(!polishes)
    }

    @Test func whatChangesIsEncodedUntilItIsFineAndNothingElse() {
        var sharpness = sharpness(5)
        let changed = blocks(3..<5, 2..<4)
        sharpness.noteChanges(changed)
        #expect(!sharpness.isFine && sharpness.coarseCount == 4)
        for quantizer in [40, 30, 9] {
            sharpness.choose(isRefinement: quantizer < 40)
            #expect(sharpness.active == changed)
            sharpness.noteEncoded(quantizer: quantizer)
            #expect(!sharpness.isFine)
        }
        sharpness.choose(isRefinement: true)
        sharpness.noteEncoded(quantizer: 7)
        #expect(sharpness.isFine)
    }

    /// However coarse rate control has become.
    @Test(arguments: 0...63) func whatChangesIsAlwaysEncoded(quantizer: Int) {
        var sharpness = sharpness(5)
        let changed = blocks(0..<40, 0..<20)
        for _ in 0..<3 {
            sharpness.noteChanges(changed)
            sharpness.choose(isRefinement: false)
            #expect(sharpness.active == changed)
            sharpness.noteEncoded(quantizer: quantizer)
        }
    }

    /// The loop filter of coarse frames goes over the rest too, which is still nearly fine.
    @Test(arguments: [(10, true), (11, false)])
    func halfAPictureBesideMotionIsMostlyFine(rows: Int, isMostlyFine: Bool) {
        var sharpness = sharpness(5)
        let window = blocks(0..<40, 0..<rows)
        for _ in 0..<3 {
            sharpness.noteChanges(window)
            sharpness.choose(isRefinement: false)
            sharpness.noteEncoded(quantizer: 40, isFiltered: true)
        }
        #expect(!sharpness.isFine)
        #expect(sharpness.isMostlyFine == isMostlyFine)
        sharpness.noteKeyframe(quantizer: 40)
        #expect(!sharpness.isMostlyFine)
    }

    /// Up: what is further down stays longer. Down: what is further up.
    @Test(arguments: [(5, 19..<20), (-5, 1..<2)])
    func ofWhatMovesThatIsRefinedWhichStaysLongest(rows: Int, refined: Range<Int>) {
        var sharpness = sharpness(12)
        let moved = blocks(0..<40, 1..<20)
        let scroll = Scroll(rows: rows, blocks: moved, tinted: blocks(0..<0, 0..<0))
        sharpness.noteScroll()
        sharpness.noteChanges(blocks(0..<40, 0..<20))
        sharpness.choose(isRefinement: false)
        sharpness.noteMoved(scroll)
        #expect(sharpness.active == blocks(0..<40, 0..<1))
        sharpness.chooseMoved(scroll, most: 0)
        #expect(sharpness.active == blocks(0..<40, 0..<1))
        sharpness.chooseMoved(scroll, most: 40)
        var chosen = blocks(0..<40, 0..<1)
        chosen.insert(columns: 0..<40, rows: refined)
        #expect(sharpness.active == chosen)
        sharpness.noteEncoded(quantizer: 3, byRateControl: false)
        #expect(sharpness.coarseCount == 18 * 40)
    }

    @Test func besideMotionTheRestIsRefinedWhenThatGains() {
        var sharpness = sharpness(40)
        let window = blocks(0..<10, 0..<10)
        var frames: [Int] = []
        for quantizer in [39, 38, 30, 29, 28, 12, 33, 31] {
            sharpness.noteChanges(window)
            sharpness.choose(isRefinement: false)
            #expect(sharpness.active.contains(column: 5, row: 5))
            frames.append(sharpness.active.count)
            sharpness.noteEncoded(quantizer: quantizer)
        }
        // The quantizer of a frame is known when it is over, so the rest follows a frame later.
        #expect(frames == [100, 100, 100, 800, 100, 100, 800, 100])
    }

    /// A coarse frame's loop filter goes over the edges of all macroblocks, frame after frame.
    @Test func whatTheLoopFilterBlursIsPolishedAtRest() {
        var sharpness = sharpness(5)
        let changed = blocks(3..<5, 2..<4)
        for _ in 0..<3 {
            sharpness.noteChanges(changed)
            sharpness.choose(isRefinement: false)
            #expect(sharpness.active == changed)
            sharpness.noteEncoded(quantizer: 40, isFiltered: true)
        }
        #expect(sharpness.coarseCount == 800)
        sharpness.choose(isRefinement: true)
        sharpness.noteEncoded(quantizer: 12, isFiltered: true)
        var polished = 0
        while sharpness.choosePolishing(most: 1000) {
            polished += sharpness.active.count
            sharpness.noteEncoded(quantizer: 3, byRateControl: false)
        }
        #expect(polished == 800 && sharpness.isFine)
    }

    /// Where rate control stays a little above what is fine, it would go on for ever.
    @Test func besideMotionTheRestIsRefinedAtTheFinestQuantizerAndThenLeftAlone() {
        var sharpness = sharpness(10)
        let window = blocks(0..<10, 0..<10)
        var frames: [Int] = []
        for _ in 0..<130 {
            sharpness.noteChanges(window)
            sharpness.choose(isRefinement: false)
            frames.append(sharpness.active.count)
            sharpness.noteEncoded(quantizer: 10)
        }
        #expect(frames == Array(repeating: 800, count: 120) + Array(repeating: 100, count: 10))
        #expect(sharpness.coarseCount == 100)
        // What changes begins anew.
        sharpness.noteChanges(blocks(20..<22, 5..<6))
        sharpness.choose(isRefinement: false)
        #expect(sharpness.active.count == 102)
        sharpness.noteEncoded(quantizer: 10)
        #expect(sharpness.coarseCount == 102)
    }

    @Test func patchesSayNothingOfRateControl() {
        var sharpness = sharpness(40)
        sharpness.noteChanges(blocks(0..<2, 0..<2))
        sharpness.choose(isRefinement: false)
        sharpness.noteEncoded(quantizer: 3, byRateControl: false)
        #expect(sharpness.coarseCount == 796)
        // At a quantizer of 3 all the rest would be worth refining.
        sharpness.choose(isRefinement: false)
        #expect(sharpness.active.isEmpty)
    }

    @Test func aNearlyFinePictureIsPolishedPieceByPiece() {
        var sharpness = sharpness(21)
        let polishes = sharpness.choosePolishing(most: 1000)
        #expect(!polishes)
        sharpness = self.sharpness(20)
        var polished = BlockSet(size, side: BlockSet.macroblock)
        var frames = 0
        while sharpness.choosePolishing(most: 1000) {
            let count = polished.count + sharpness.active.count
            polished.formUnion(sharpness.active)
            #expect(polished.count == count)
            sharpness.noteEncoded(quantizer: 5)
            frames += 1
        }
        #expect(polished.isFull && sharpness.isFine && 3...8 ~= frames)
    }

    /// What changes while a refinement is encoded waits for it, so that none is to take long.
    @Test func aCoarsePictureIsRefinedPartByPartTheCoarsestFirst() {
        var sharpness = sharpness(40)
        let changed = blocks(3..<7, 2..<4)
        for round in 0..<5 {
            if round == 1 {
                sharpness.noteChanges(changed)
                sharpness.chooseChanged()
                #expect(sharpness.active == changed)
            }
            sharpness.chooseRefinement()
            #expect(sharpness.active.count == 200)
            var both = changed
            both.formIntersection(sharpness.active)
            #expect(round != 1 || !both.isEmpty)
            sharpness.noteEncoded(quantizer: 12)
            let polishes = sharpness.choosePolishing(most: 1000)
            #expect(polishes == (round == 4))
        }
        // What has changed is encoded whole, however much it is.
        sharpness.noteChanges(blocks(0..<40, 0..<10))
        sharpness.chooseRefinement()
        #expect(sharpness.active.count == 400)
    }

    /// Whatever happens, what is not fine is encoded in the end, and the count is right.
    @Test func randomHistoriesEndFine() {
        var generator = SystemRandomNumberGenerator()
        var sharpness = sharpness(30)
        for _ in 0..<2000 {
            switch Int.random(in: 0..<6, using: &generator) {
            case 0:
                let column = Int.random(in: 0..<40, using: &generator)
                let row = Int.random(in: 0..<20, using: &generator)
                sharpness.noteChanges(
                    blocks(
                        column..<Int.random(in: column...40, using: &generator),
                        row..<Int.random(in: row...20, using: &generator)
                    )
                )
            case 1: sharpness.chooseNone()
            case 2: _ = sharpness.choosePolishing(most: 1000)
            default: sharpness.choose(isRefinement: Bool.random(using: &generator))
            }
            let quantizer = Int.random(in: 4...56, using: &generator)
            if Int.random(in: 0..<40, using: &generator) == 0 {
                sharpness.noteKeyframe(quantizer: quantizer)
            } else {
                sharpness.noteEncoded(quantizer: quantizer)
            }
        }
        sharpness.choose(isRefinement: true)
        #expect(sharpness.active.count == sharpness.coarseCount)
        sharpness.noteEncoded(quantizer: 8)
        #expect(sharpness.isFine)
    }

    @Test(arguments: [16, 32, 48, 64])
    func aTinyPictureGetsFineToo(width: Int) {
        var sharpness = Sharpness(PixelSize(width: width, height: 16), fineQuantizer: 8)
        sharpness.noteKeyframe(quantizer: 40)
        for _ in 0..<width / 16 {
            sharpness.chooseRefinement()
            sharpness.noteEncoded(quantizer: 8, byRateControl: false)
        }
        #expect(sharpness.isFine)
    }
}

@Suite struct PatchBudgetTests {
    @Test func patchesTakeNoMoreThanTheBitrate() {
        var budget = PatchBudget(bitrate: 800_000)
        var sent = 0
        for step in 0..<300 {
            let now = Instant.seconds(1) + .milliseconds(33) * step
            guard let limit = budget.limit(50, at: now) else { continue }
            let count = min(limit, 8000)
            budget.note(count)
            sent += count
        }
        // 100,000 bytes a second for 9.9 s, and a quarter of a second's worth at the start.
        #expect(900_000...1_020_000 ~= sent)
    }

    @Test func largeChangesAreTheEncodersAndRepetitionsAlwaysPass() {
        var budget = PatchBudget(bitrate: 800_000)
        var limits = [3000, 3].map { budget.limit($0, at: .seconds(1)) }
        #expect(limits[0] == nil && limits[1] != nil)
        budget.note(1_000_000)
        limits = [3, 0].map { budget.limit($0, at: .seconds(1)) }
        #expect(limits[0] == nil && limits[1] != nil)
    }
}
