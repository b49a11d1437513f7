import FrameBridge
import Glibc

/// The picture of a paused screen: the word in the middle of a dark field, large enough to read in a thumbnail.
struct Slate {
    static let background: UInt8 = 40
    static let ink: UInt8 = 200

    /// The largest share of the picture.
    private static let (wordWidth, wordHeight) = (0.4, 0.2)
    /// In units of which each letter is 6 high: the space between two letters, and half the width of a stroke.
    private static let (gap, pen) = (2.0, 0.55)
    private static let letters = [
        Letter(3.7, [.line(0, 0, 0, 6), .line(0, 0, 2, 0), .arc(2, 1.7, 1.7, -90...90), .line(2, 3.4, 0, 3.4)]),
        Letter(4.4, [.line(0, 6, 2.2, 0), .line(2.2, 0, 4.4, 6), .line(0.8, 4.1, 3.6, 4.1)]),
        Letter(3.8, [.line(0, 0, 0, 4.1), .arc(1.9, 4.1, 1.9, 0...180), .line(3.8, 4.1, 3.8, 0)]),
        Letter(3.2, [.arc(1.7, 1.5, 1.5, 90...330), .line(1.5, 3, 1.7, 3), .arc(1.5, 4.5, 1.5, -90...150)]),
        Letter(3.3, [.line(0, 0, 0, 6), .line(0, 0, 3.3, 0), .line(0, 3, 3, 3), .line(0, 6, 3.3, 6)]),
        Letter(4.2, [.line(0, 0, 0, 6), .line(0, 0, 1.2, 0), .arc(1.2, 3, 3, -90...90), .line(1.2, 6, 0, 6)]),
    ]

    private struct Letter {
        let width: Double
        let strokes: [Stroke]

        init(_ width: Double, _ strokes: [Stroke]) { (self.width, self.strokes) = (width, strokes) }
    }

    /// With y going down.
    private enum Stroke {
        case line(_ x0: Double, _ y0: Double, _ x1: Double, _ y1: Double)
        /// Of a circle, in degrees clockwise from the right.
        case arc(_ x: Double, _ y: Double, _ radius: Double, ClosedRange<Double>)

        func distance(to x: Double, _ y: Double) -> Double {
            switch self {
            case .line(let x0, let y0, let x1, let y1):
                let (dx, dy) = (x1 - x0, y1 - y0)
                let t = min(max(((x - x0) * dx + (y - y0) * dy) / (dx * dx + dy * dy), 0), 1)
                return hypot(x - x0 - t * dx, y - y0 - t * dy)
            case .arc(let centerX, let centerY, let radius, let degrees):
                let angle = atan2(y - centerY, x - centerX) * 180 / .pi
                if degrees.contains(angle) || degrees.contains(angle + 360) {
                    return abs(hypot(x - centerX, y - centerY) - radius)
                }
                func distance(toEnd degrees: Double) -> Double {
                    let angle = degrees * .pi / 180
                    return hypot(x - centerX - radius * cos(angle), y - centerY - radius * sin(angle))
                }
                return min(distance(toEnd: degrees.lowerBound), distance(toEnd: degrees.upperBound))
            }
        }
    }

    /// Where there may be ink.
    let columns: Range<Int>
    let rows: Range<Int>
    /// Pixels for a unit.
    private let scale: Double
    /// The places of the letters, in units.
    private let boxes: [(letter: Letter, left: Double)]
    private let top: Double

    init(width: Int, height: Int) {
        let length = Self.letters.map { $0.width + Self.gap }.reduce(2 * Self.pen - Self.gap, +)
        let tall = 6 + 2 * Self.pen
        let scale = min(Self.wordWidth * Double(width) / length, Self.wordHeight * Double(height) / tall)
        func inner(_ whole: Int, _ inked: Double) -> Range<Int> {
            let start = (Double(whole) - scale * inked) / 2
            return max(0, Int(start - 1))..<min(whole, Int(start + scale * inked) + 2)
        }
        (columns, rows) = (inner(width, length), inner(height, tall))
        self.scale = scale
        var left = (Double(width) / scale - length) / 2 + Self.pen
        boxes = Self.letters.map { letter in
            defer { left += letter.width + Self.gap }
            return (letter, left)
        }
        top = (Double(height) / scale - tall) / 2 + Self.pen
    }

    func luma(x: Int, y: Int) -> UInt8 {
        guard columns.contains(x), rows.contains(y) else { return Self.background }
        let (x, y) = ((Double(x) + 0.5) / scale, (Double(y) + 0.5) / scale - top)
        let box = boxes.first { x < $0.left + $0.letter.width + Self.gap / 2 } ?? boxes[boxes.count - 1]
        let distance = box.letter.strokes.reduce(.infinity) { min($0, $1.distance(to: x - box.left, y)) }
        let part = min(max((Self.pen - distance) * scale + 0.5, 0), 1)
        return Self.background + UInt8((part * Double(Self.ink - Self.background)).rounded())
    }
}

extension FramePlanes {
    /// Fills the whole picture with the slate. Nothing of the former content stays.
    mutating func drawSlate() {
        let (width, height, stride) = (width, height, stride)
        let slate = Slate(width: width, height: height)
        withPlanes { luma, chroma in
            for offset in luma.byteOffsets {
                luma.storeBytes(of: Slate.background, toByteOffset: offset, as: UInt8.self)
            }
            for y in slate.rows {
                for x in slate.columns {
                    luma.storeBytes(of: slate.luma(x: x, y: y), toByteOffset: y * stride + x, as: UInt8.self)
                }
            }
            for offset in chroma.byteOffsets { chroma.storeBytes(of: 128, toByteOffset: offset, as: UInt8.self) }
        }
    }
}
