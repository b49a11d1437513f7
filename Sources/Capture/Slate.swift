import FrameBridge

/// The picture of a paused screen: the word in the middle of a dark field, large enough to read in a thumbnail.
struct Slate {
    struct Letter {
        let advance: Int
        let contours: [[Int]]
    }

    static let background: UInt8 = 40
    static let ink: UInt8 = 200

    /// The largest share of the picture.
    private static let (wordWidth, wordHeight) = (0.4, 0.2)
    /// The space between letters, as a share of the height of a letter.
    private static let spacing = 0.12
    private static let stepsOfCurve = 8
    private static let linesOfRow = 8

    private let width: Int
    private let rows: Range<Int>
    /// The share of ink in each pixel of these rows, 0 to 1.
    private var coverage: [Double]

    init(width: Int, height: Int) {
        self.width = width
        let (base, top) = (Double(Self.heights.lowerBound), Double(Self.heights.upperBound))
        let gap = Self.spacing * (top - base)
        let length = Double(Self.letters.map(\.advance).reduce(0, +)) + gap * Double(Self.letters.count - 1)
        let scale = min(Self.wordWidth * Double(width) / length, Self.wordHeight * Double(height) / (top - base))
        let left = (Double(width) - scale * length) / 2
        let bottom = (Double(height) + scale * (top + base)) / 2
        rows = max(0, Int(bottom - scale * top))..<min(height, Int(bottom - scale * base) + 1)
        coverage = [Double](repeating: 0, count: rows.count * width)
        var edges: [Edge] = []
        var pen = 0.0
        for letter in Self.letters {
            for contour in letter.contours {
                edges += Self.edges(of: contour) { x, y in (left + scale * (pen + x), bottom - scale * y) }
            }
            pen += Double(letter.advance) + gap
        }
        fill(edges)
    }

    func luma(x: Int, y: Int) -> UInt8 {
        guard rows.contains(y), x < width else { return Self.background }
        let part = min(1, coverage[(y - rows.lowerBound) * width + x])
        return Self.background + UInt8((part * Double(Self.ink - Self.background)).rounded())
    }

    // MARK: - Outlines

    private struct Edge {
        let from, to: (x: Double, y: Double)

        func reaches(_ band: ClosedRange<Double>) -> Bool {
            band.overlaps(min(from.y, to.y)...max(from.y, to.y))
        }

        /// Where the edge crosses a horizontal line; nil if it does not.
        func crossing(_ y: Double) -> Double? {
            guard (from.y <= y) != (to.y <= y) else { return nil }
            return from.x + (y - from.y) / (to.y - from.y) * (to.x - from.x)
        }
    }

    private static func edges(of contour: [Int], _ place: (Double, Double) -> (x: Double, y: Double)) -> [Edge] {
        let points = stride(from: 0, to: contour.count, by: 2).map {
            place(Double(contour[$0]), Double(contour[$0 + 1]))
        }
        var edges: [Edge] = []
        for start in stride(from: 0, to: points.count - 2, by: 2) {
            let (begin, control, end) = (points[start], points[start + 1], points[start + 2])
            var last = begin
            for step in 1...stepsOfCurve {
                let t = Double(step) / Double(stepsOfCurve)
                func between(_ a: Double, _ b: Double, _ c: Double) -> Double {
                    (1 - t) * (1 - t) * a + 2 * t * (1 - t) * b + t * t * c
                }
                let next = (x: between(begin.x, control.x, end.x), y: between(begin.y, control.y, end.y))
                edges.append(Edge(from: last, to: next))
                last = next
            }
        }
        return edges
    }

    /// Fills the places with an odd number of edges to their left.
    private mutating func fill(_ edges: [Edge]) {
        for row in rows {
            let near = edges.filter { $0.reaches(Double(row)...Double(row + 1)) }
            for line in 0..<Self.linesOfRow {
                let y = Double(row) + (Double(line) + 0.5) / Double(Self.linesOfRow)
                let crossings = near.compactMap { $0.crossing(y) }.sorted()
                for pair in stride(from: 0, to: crossings.count - 1, by: 2) {
                    cover(from: crossings[pair], to: crossings[pair + 1], in: row - rows.lowerBound)
                }
            }
        }
    }

    private mutating func cover(from start: Double, to end: Double, in row: Int) {
        for x in max(0, Int(start))..<max(0, min(width, Int(end) + 1)) {
            let part = min(end, Double(x + 1)) - max(start, Double(x))
            coverage[row * width + x] += max(0, part) / Double(Self.linesOfRow)
        }
    }
}

extension FramePlanes {
    /// Fills the whole picture with the slate. Nothing of the former content stays.
    mutating func drawSlate() {
        let (width, height, stride) = (width, height, stride)
        let slate = Slate(width: width, height: height)
        withPlanes { luma, chroma in
            for y in 0..<height {
                for x in 0..<stride {
                    luma.storeBytes(of: slate.luma(x: x, y: y), toByteOffset: y * stride + x, as: UInt8.self)
                }
            }
            for offset in chroma.byteOffsets { chroma.storeBytes(of: 128, toByteOffset: offset, as: UInt8.self) }
        }
    }
}
