import Pixels
import Rendering
import TestSupport
import Testing

@Suite struct ContactSheetTests {
    /// Cells of 320x180 with 8 pixels between them.
    @Test func picturesStandInRowsUnderTitles() {
        var sheet = ContactSheet()
        for title in 0..<2 {
            sheet.addTitle("")
            for number in 0..<7 { sheet.add(Self.picture(64, 36, luma: Self.luma(title, number)), label: "") }
        }
        #expect(sheet.size == PixelSize(width: 5 * 328 + 8, height: 2 * (44 + 2 * 216)))
        #expect(sheet.rgb.count == sheet.size.width * sheet.size.height * 3)
        for title in 0..<2 {
            for number in 0..<7 {
                let (x, y) = (8 + number % 5 * 328, title * (44 + 2 * 216) + 44 + number / 5 * 216)
                // Of BT.601 in the limited range.
                let grey = Int((Double(Self.luma(title, number) - 16) * 255 / 219).rounded())
                for (x, y) in [(x, y), (x + 319, y), (x, y + 179), (x + 319, y + 179)] {
                    #expect(abs(Int(sheet[x, y].0) - grey) <= 1, "\(title), \(number)")
                    #expect(sheet[x, y].0 == sheet[x, y].1 && sheet[x, y].1 == sheet[x, y].2)
                }
                for (x, y) in [(x - 1, y), (x + 320, y), (x, y - 1), (x, y + 180)] {
                    #expect(sheet[x, y] == (24, 24, 24))
                }
            }
        }
    }

    /// Bars of one size do not stay in a picture of another.
    @Test func picturesOfAnySizeFit() {
        var sheet = ContactSheet()
        let sizes = [(2, 2), (4096, 2), (2, 4096), (640, 480), (320, 180), (318, 182), (3840, 2160)]
        for (width, height) in sizes { sheet.add(Self.picture(width, height, luma: 235), label: "") }
        for (number, size) in sizes.enumerated() {
            let (x, y) = (8 + number % 5 * 328, number / 5 * 216)
            #expect(sheet[x + 159, y + 89] == (255, 255, 255), "\(size)")
            let isWide = size.0 * 9 > size.1 * 16
            #expect(sheet[x + 159, y] == (isWide && size.0 > 330 ? (0, 0, 0) : (255, 255, 255)), "\(size)")
        }
    }

    @Test func textIsDrawnAndCut() {
        var sheet = ContactSheet()
        sheet.addTitle("A\u{7F}é!" + String(repeating: "M", count: 1000))
        // Rows of 6 pixels, twice as large.
        let a = ["..#...", ".#.#..", "#...#.", "#...#.", "#####.", "#...#.", "#...#."]
        for (row, pixels) in a.enumerated() {
            for (column, pixel) in pixels.enumerated() {
                for (x, y) in [(0, 0), (1, 0), (0, 1), (1, 1)] {
                    let isInk = sheet[8 + 2 * column + x, 16 + 2 * (row + 1) + y] != (24, 24, 24)
                    #expect(isInk == (pixel == "#"), "\(row), \(column)")
                }
            }
        }
        #expect(sheet.letter(1, atY: 16) == sheet.letter(2, atY: 16), "a question mark for both")
        #expect(sheet.letter(2, atY: 16) != sheet.letter(3, atY: 16))
        #expect((0..<44).allSatisfy { sheet[1640, $0] == (24, 24, 24) }, "nothing beyond the margin")

        sheet.add(Self.picture(2, 2, luma: 16), label: String(repeating: "M", count: 1000))
        #expect((0..<216).allSatisfy { sheet[328, 44 + $0] == (24, 24, 24) }, "nothing beyond its picture")
    }

    private static func luma(_ title: Int, _ number: Int) -> Int { 40 + title * 90 + number * 10 }

    private static func picture(_ width: Int, _ height: Int, luma: Int) -> PlanarPicture {
        var picture = PlanarPicture()
        var isLuma = true
        picture.read(PixelSize(width: width, height: height)) { plane in
            plane.initializeMemory(as: UInt8.self, repeating: isLuma ? UInt8(luma) : 128)
            isLuma = false
        }
        return picture
    }
}

extension ContactSheet {
    fileprivate subscript(_ x: Int, _ y: Int) -> (UInt8, UInt8, UInt8) {
        let start = 3 * (y * size.width + x)
        return (rgb[start], rgb[start + 1], rgb[start + 2])
    }

    /// The red of each pixel of a letter of a title.
    fileprivate func letter(_ index: Int, atY top: Int) -> [UInt8] {
        (0..<20).flatMap { y in (0..<12).map { x in self[8 + 12 * index + x, top + y].0 } }
    }
}
