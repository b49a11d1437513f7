import Testing

@testable import Capture

@Suite struct SlateTests {
    private func rows(_ width: Int, _ height: Int) -> [[UInt8]] {
        let slate = Slate(width: width, height: height)
        return (0..<height).map { y in (0..<width).map { x in slate.luma(x: x, y: y) } }
    }

    @Test(arguments: [(1, 1), (2, 2), (64, 36), (640, 480), (1920, 1080), (1080, 1920), (2000, 2)])
    func theWordIsInTheMiddleAndTheBorderIsPlain(size: (Int, Int)) {
        let (width, height) = size
        let rows = rows(width, height)
        #expect(rows.joined().allSatisfy { Slate.background...Slate.ink ~= $0 })
        if width >= 64, height >= 36 {
            #expect(rows[0].allSatisfy { $0 == Slate.background })
            #expect(rows[height - 1].allSatisfy { $0 == Slate.background })
            let ink = rows.joined().count { $0 != Slate.background }
            #expect(ink > 0 && ink < width * height / 4)
            // As much ink left of the middle as right of it, within a letter.
            let left = rows.map { $0[..<(width / 2)].count { $0 != Slate.background } }.reduce(0, +)
            #expect(left > ink / 4 && left < ink * 3 / 4)
        }
    }

    /// Six letters with space between them, of which P, A and D have a hole; their edges are smooth.
    @Test(arguments: [(320, 180), (1920, 1080)]) func theLettersAreSixOfWhichThreeHaveAHole(size: (Int, Int)) {
        let (width, height) = size
        let rows = rows(width, height)
        let hasInk = (0..<width).map { x in rows.contains { $0[x] > (Slate.background + Slate.ink) / 2 } }
        let starts = (1..<width).filter { hasInk[$0] && !hasInk[$0 - 1] }
        #expect(starts.count == 6)
        let isInk = rows.map { $0.map { $0 != Slate.background } }
        #expect(holes(in: isInk) == 3)
        #expect(rows.joined().contains { (Slate.background + 40)...(Slate.ink - 40) ~= $0 })
        #expect(rows.joined().contains(Slate.ink))
    }

    /// Fields of ground that the ground around the word does not reach.
    private func holes(in isInk: [[Bool]]) -> Int {
        var seen = isInk
        var fields = 0
        for y in seen.indices {
            for x in seen[y].indices where !seen[y][x] {
                fields += 1
                seen[y][x] = true
                var edge = [(x, y)]
                while let (x, y) = edge.popLast() {
                    for (x, y) in [(x - 1, y), (x + 1, y), (x, y - 1), (x, y + 1)]
                    where seen.indices.contains(y) && seen[y].indices.contains(x) && !seen[y][x] {
                        seen[y][x] = true
                        edge.append((x, y))
                    }
                }
            }
        }
        return fields - 1
    }
}
