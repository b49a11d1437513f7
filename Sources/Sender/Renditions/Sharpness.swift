import Pixels
import VideoEncoding

/// Records how finely each macroblock of a stream's picture was encoded, and chooses the next ones.
///
/// A quantizer holds for a whole frame. A macroblock is encoded after a change, and again as long as that improves it:
/// on a picture at rest until all are fine, and beside motion whenever rate control has become more generous.
struct Sharpness {
    /// Above any quantizer: the macroblock was not encoded since its last change.
    private static let unknown: UInt8 = 64
    /// Beside motion, a refinement must lower the quantizer by this much to be worth its bits.
    private static let step = 4

    /// From here on, polishing is cheaper than encoding the whole picture once more.
    private static let nearlyFine: UInt8 = 20
    private static let mostPolished = 120
    /// The largest part of all macroblocks in one refinement, as new changes wait for it.
    private static let refinedShare = 4
    /// With much motion, rate control never gets to a fine quantizer. At its finest one, each encode of the parts at
    /// rest improves them a little. After this many encodes they are as good as fine: on text, the first one gives
    /// 45 dB, and all of them 50 dB.
    private static let mostPasses: UInt8 = 120

    /// At this quantizer, 0...63, further encodes give no visible gain.
    private let fineQuantizer: Int
    /// The finest quantizer of each macroblock since its last change, row by row.
    private var quantizers: [UInt8]
    /// The earlier quantizers, for those of a scrolled picture.
    private var past: [UInt8]
    /// The last change of each macroblock, row by row, as a count of changes.
    private var changedAt: [UInt32]
    private var changeCount: UInt32 = 0
    /// The number of encodes of each macroblock at about rate control's finest quantizer, row by row.
    private var passes: [UInt8]
    private let columns: Int
    /// Rate control's last choice.
    private var lastQuantizer = 63
    private(set) var coarseCount: Int
    /// The macroblocks of the next frame.
    private(set) var active: BlockSet

    init(_ size: PixelSize, fineQuantizer: Int) {
        self.fineQuantizer = fineQuantizer
        active = BlockSet(size, side: BlockSet.macroblock)
        columns = active.columns
        coarseCount = active.columns * active.rows
        quantizers = Array(repeating: Self.unknown, count: coarseCount)
        past = quantizers
        passes = Array(repeating: 0, count: coarseCount)
        changedAt = Array(repeating: 0, count: coarseCount)
    }

    /// Whether further encodes would not improve the picture.
    var isFine: Bool { coarseCount == 0 }

    var isMostlyFine: Bool { quantizers.count { $0 <= Self.nearlyFine } * 2 >= quantizers.count }

    private func isFine(_ index: Int) -> Bool {
        Int(quantizers[index]) <= fineQuantizer || passes[index] >= Self.mostPasses
    }

    mutating func noteChanges(_ changed: BlockSet) {
        changeCount &+= 1
        changed.forEachBlock { index, _, _ in
            if isFine(index) { coarseCount += 1 }
            changedAt[index] = changeCount
            quantizers[index] = Self.unknown
            passes[index] = 0
        }
    }

    /// Saves the fineness of a picture that scrolls. Call it before its changes are noted.
    mutating func noteScroll() {
        for index in past.indices { past[index] = quantizers[index] }
    }

    /// These macroblocks are moved, as fine as at their origin, and no longer chosen.
    mutating func noteMoved(_ scroll: Scroll) {
        active.subtract(scroll.blocks)
        scroll.blocks.forEachBlock { index, column, row in
            // A macroblock may come from two.
            let first = max(0, (row * BlockSet.macroblock + scroll.rows) >> 4)
            let last = min(active.rows - 1, (row * BlockSet.macroblock + scroll.rows + 15) >> 4)
            let wasFine = isFine(index)
            let isTinted = scroll.tinted.contains(column: column, row: row)
            quantizers[index] = max(
                past[first * columns + column],
                past[last * columns + column],
                isTinted ? Self.nearlyFine : 0
            )
            passes[index] = 0
            coarseCount += (wasFine ? 1 : 0) - (isFine(index) ? 1 : 0)
        }
    }

    /// Chooses the macroblocks of the next frame: the changed ones, and those that this frame improves.
    ///
    /// - Parameter isRefinement: whether nothing has changed: then all macroblocks that are not fine are chosen.
    mutating func choose(isRefinement: Bool) {
        let limit = isRefinement || isAtFinest ? fineQuantizer : min(lastQuantizer + Self.step, Int(Self.unknown)) - 1
        active.removeAll()
        insert(beyond: limit, most: .max)
    }

    /// Chooses the changed macroblocks.
    ///
    /// - Parameter besideChosen: whether the earlier choice stays.
    mutating func chooseChanged(besideChosen: Bool = false) {
        if !besideChosen { active.removeAll() }
        insert(beyond: Int(Self.unknown) - 1, most: .max)
    }

    /// Chooses the changed macroblocks, and the coarsest of those that are not fine.
    mutating func chooseRefinement() {
        chooseChanged()
        var counts = [Int](repeating: 0, count: Int(Self.unknown))
        for index in quantizers.indices where quantizers[index] < Self.unknown && !isFine(index) {
            counts[Int(quantizers[index])] += 1
        }
        let most = max(1, quantizers.count / Self.refinedShare)
        var (limit, count) = (Int(Self.unknown), active.count)
        while limit > fineQuantizer + 1, count + counts[limit - 1] <= most {
            limit -= 1
            count += counts[limit]
        }
        insert(beyond: limit - 1, most: .max)
        // The next coarser class has too many macroblocks. Only as many are added as the limit allows.
        insert(beyond: limit - 2, most: most)
    }

    var count: Int { quantizers.count }

    /// The quantizer of the coarsest macroblock.
    var coarsest: Int { Int(quantizers.max() ?? 0) }

    /// Chooses macroblocks that are coarser than a limit, at most `most`: the last changed first, among them the upper
    /// ones first.
    mutating func chooseLatest(beyond limit: Int, most: Int) {
        active.removeAll()
        let coarse = quantizers.indices.filter { quantizers[$0] > limit && !isFine($0) }
        let latest = coarse.sorted { (changedAt[$1], $0) < (changedAt[$0], $1) }
        for index in latest.prefix(most) { active.insert(column: index % columns, row: index / columns) }
    }

    /// Chooses about `most` macroblocks to polish, if all are nearly fine; otherwise none. Returns whether it did.
    mutating func choosePolishing(most: Int) -> Bool {
        guard coarseCount > 0, quantizers.allSatisfy({ $0 <= Self.nearlyFine }) else { return false }
        active.removeAll()
        insert(beyond: fineQuantizer, most: min(max(most, 1), Self.mostPolished))
        return true
    }

    /// Whether rate control has about as many bits as it can use.
    private var isAtFinest: Bool { lastQuantizer < fineQuantizer + Self.step }

    /// Adds macroblocks that are coarser than a limit, until there are `most`.
    private mutating func insert(beyond limit: Int, most: Int) {
        var count = active.count
        if coarseCount == 0 || count >= most { return }
        for row in 0..<active.rows {
            for column in 0..<columns {
                let index = row * columns + column
                guard Int(quantizers[index]) > limit, !isFine(index), !active.contains(column: column, row: row) else {
                    continue
                }
                active.insert(column: column, row: row)
                count += 1
                if count == most { return }
            }
        }
    }

    /// Chooses coarse ones of the moved macroblocks, at most `most`: first those that stay in the picture longest.
    mutating func chooseMoved(_ scroll: Scroll, most: Int) {
        if coarseCount == 0 || most <= 0 { return }
        var count = 0
        for step in 0..<active.rows {
            let row = scroll.rows > 0 ? active.rows - 1 - step : step
            for column in 0..<columns where scroll.blocks.contains(column: column, row: row) {
                if isFine(row * columns + column) { continue }
                active.insert(column: column, row: row)
                count += 1
                if count == most { return }
            }
        }
    }

    /// Chooses none: the next frame repeats the last one.
    mutating func chooseNone() { active.removeAll() }

    /// The chosen macroblocks were encoded.
    ///
    /// - Parameters:
    ///   - byRateControl: whether rate control chose the quantizer.
    ///   - isFiltered: whether the loop filter changed the other macroblocks too. After a coarse frame, those that were
    ///     fine are polished when the picture is at rest.
    mutating func noteEncoded(quantizer: Int, byRateControl: Bool = true, isFiltered: Bool = false) {
        if byRateControl { lastQuantizer = quantizer }
        if isFiltered, !isAtFinest {
            for index in quantizers.indices where isFine(index) {
                quantizers[index] = UInt8(clamping: fineQuantizer + 1)
                passes[index] = 0
                coarseCount += 1
            }
        }
        active.forEachBlock { index, _, _ in
            let wasFine = isFine(index)
            quantizers[index] = min(quantizers[index], UInt8(clamping: quantizer))
            if byRateControl, isAtFinest, passes[index] < Self.mostPasses { passes[index] += 1 }
            if !wasFine, isFine(index) { coarseCount -= 1 }
        }
    }

    mutating func noteKeyframe(quantizer: Int) {
        lastQuantizer = quantizer
        for index in quantizers.indices {
            quantizers[index] = UInt8(clamping: quantizer)
            passes[index] = 0
        }
        coarseCount = quantizer <= fineQuantizer ? 0 : quantizers.count
    }
}

extension BlockSet {
    /// Calls the body for each block. The index counts all blocks of the picture, row by row.
    fileprivate func forEachBlock(_ body: (_ index: Int, _ column: Int, _ row: Int) -> Void) {
        forEachRectangle { columns, rows in
            for row in rows {
                for column in columns { body(row * self.columns + column, column, row) }
            }
        }
    }
}
