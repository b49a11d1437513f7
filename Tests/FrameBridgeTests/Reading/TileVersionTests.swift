import FrameBridge
import Glibc
import Posix
import TestSupport
import Testing

/// A writer that draws some tiles of each frame, and readers that take over what changed since the last one they saw.
@Suite struct TileVersionTests {
    let folder = ScratchFolder()

    /// A picture without padding.
    private struct Model: Equatable {
        let width: Int, height: Int
        var luma: [UInt8]
        var chroma: [UInt8]

        init(_ width: Int, _ height: Int) {
            (self.width, self.height) = (width, height)
            luma = Array(repeating: 0, count: width * height)
            chroma = Array(repeating: 0, count: width * height / 2)
        }

        /// The bytes of a tile in each of its rows: ranges in `luma` and in `chroma`.
        func rows(column: Int, row: Int) -> (luma: [Range<Int>], chroma: [Range<Int>]) {
            let columns = column * 64..<min(column * 64 + 64, width)
            let lines = row * 64..<min(row * 64 + 64, height)
            func ranges(_ lines: Range<Int>) -> [Range<Int>] {
                lines.map { $0 * width + columns.lowerBound..<$0 * width + columns.upperBound }
            }
            return (ranges(lines), ranges(lines.lowerBound / 2..<lines.upperBound / 2))
        }

        mutating func scribble(column: Int, row: Int, _ generator: inout SplitMix) {
            let (luma, chroma) = rows(column: column, row: row)
            let byte = UInt8(truncatingIfNeeded: generator.next())
            for range in luma { for index in range { self.luma[index] = byte ^ UInt8(truncatingIfNeeded: index) } }
            for range in chroma { for index in range { self.chroma[index] = byte &+ UInt8(truncatingIfNeeded: index) } }
        }
    }

    /// Invariant: complete.
    @Test(arguments: [(2, 2), (64, 64), (66, 130), (322, 194), (640, 62)], [FrameReader.Access.mapped, .copied])
    func readersThatSkipFramesHaveTheWholePicture(size: (Int, Int), access: FrameReader.Access) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var generator = SplitMix(seed: UInt64(size.0 * 1000 + size.1))
        var screen = Model(size.0, size.1)
        let columns = (size.0 + 63) / 64
        let rows = (size.1 + 63) / 64

        var first = Follower(try FrameReader(directory: directory, access: access), screen)
        var second = Follower(try FrameReader(directory: directory, access: access), screen)
        for _ in 0..<400 {
            // Few tiles, or none, or many, some of them named twice.
            var drawn: [(column: Int, row: Int)] = []
            for _ in 0..<[0, 1, 2, 5, columns * rows].randomElement(using: &generator)! {
                drawn.append((.random(in: 0..<columns, using: &generator), .random(in: 0..<rows, using: &generator)))
            }
            for (column, row) in drawn { screen.scribble(column: column, row: row, &generator) }
            try writer.publish(info(size.0, size.1)) { planes in
                guard planes.followsAnother, .random(in: 0..<20, using: &generator) > 0 else {
                    return Self.draw(screen, on: &planes, all: true, drawn)
                }
                planes.keepAll()
                for (column, row) in drawn { planes.drawOnly(columns: column..<column + 1, row: row) }
                Self.draw(screen, on: &planes, all: false, drawn)
            }
            try first.look(at: screen, skipping: .random(in: 0...50, using: &generator))
            try second.look(at: screen, skipping: .random(in: 0...3, using: &generator))
        }
        if columns * rows > 10 { #expect(second.changes < 200 * columns * rows / 2) }
    }

    /// The pointer may move over tiles whose content changes too.
    @Test(arguments: [FrameReader.Access.mapped, .copied])
    func changesByThePointerAloneAreTold(access: FrameReader.Access) throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory, access: access)
        var generator = SplitMix(seed: 4)
        var (content, all): (Set<Int>, Set<Int>) = ([], [])
        var last: FrameInfo?
        func found(countsPointer: Bool, _ frame: borrowing Frame) -> Set<Int> {
            var tiles: Set<Int> = []
            frame.forEachChange(after: last, countsPointer: countsPointer) { columns, row in
                tiles.formUnion(columns.map { row * 5 + $0 })
            }
            return tiles
        }
        for _ in 0..<500 {
            func some(_ counts: [Int]) -> [Int] {
                (0..<counts.randomElement(using: &generator)!).map { _ in .random(in: 0..<15, using: &generator) }
            }
            let (drawn, pointed) = (some([0, 0, 1, 3]), some([0, 1, 2]))
            let isWhole = Int.random(in: 0..<50, using: &generator) == 0
            try writer.publish(info(320, 192)) { planes in
                guard planes.followsAnother, !isWhole else {
                    fill(&planes, 1)
                    return content.formUnion(0..<15)
                }
                planes.keepAll()
                for tile in drawn { planes.drawOnly(columns: tile % 5..<tile % 5 + 1, row: tile / 5) }
                for tile in pointed { planes.drawPointer(columns: tile % 5..<tile % 5 + 1, row: tile / 5) }
            }
            content.formUnion(drawn)
            all.formUnion(content.union(pointed))
            guard Int.random(in: 0..<3, using: &generator) == 0 else { continue }
            var changes: (content: Set<Int>, all: Set<Int>) = ([], [])
            let outcome = try reader.read { frame in
                changes = (found(countsPointer: false, frame), found(countsPointer: true, frame))
            }
            guard case .frame(let info) = outcome else { throw Unexpected(outcome) }
            #expect(changes.content == content)
            #expect(changes.all == all)
            (last, content, all) = (info, [], [])
        }
    }

    @Test func anotherSizeOrGenerationIsAllNew() throws {
        let directory = try folder.bridge()
        var writer = try FrameWriter(directory: directory, source: "", framesPerSecond: 30)
        var reader = try FrameReader(directory: directory)
        var last: FrameInfo?
        func changedTiles() throws -> Int {
            var count = 0
            guard
                case .frame(let info) = try reader.read({ frame in
                    count = 0
                    frame.forEachChange(after: last) { columns, _ in count += columns.count }
                })
            else { throw Unexpected("no frame") }
            last = info
            return count
        }
        var follows: [Bool] = []
        func publish(_ width: Int, _ height: Int, to writer: inout FrameWriter) throws {
            try writer.publish(info(width, height)) { planes in
                follows.append(planes.followsAnother)
                if planes.followsAnother { planes.keepAll() } else { fill(&planes, 1) }
            }
        }
        try publish(256, 128, to: &writer)
        #expect(try changedTiles() == 8)
        try publish(256, 128, to: &writer)
        #expect(try changedTiles() == 0)
        // As many tiles, and a smaller picture in the same file; then larger ones, in new files.
        for (width, height, tiles) in [(250, 128, 8), (256, 128, 8), (64, 64, 1), (256, 256, 16), (320, 320, 25)] {
            try publish(width, height, to: &writer)
            #expect(try changedTiles() == tiles)
        }
        // Where a slot holds another size, its tiles are no help.
        for _ in 0..<4 { try publish(320, 320, to: &writer) }
        #expect(try changedTiles() == 0)
        #expect(follows == [false, true, false, false, false, false, false, true, true, true, true])
        _ = consume writer
        var successor = try takeOver(directory)
        try publish(320, 320, to: &successor)
        #expect(try changedTiles() == 25)
    }

    private static func draw(
        _ screen: Model,
        on planes: inout FramePlanes,
        all: Bool,
        _ drawn: [(column: Int, row: Int)]
    ) {
        let (width, stride) = (planes.width, planes.stride)
        planes.withPlanes { luma, chroma in
            func copy(_ range: Range<Int>, _ source: [UInt8], _ target: inout MutableRawSpan) {
                for index in range {
                    target.storeBytes(
                        of: source[index],
                        toByteOffset: index / width * stride + index % width,
                        as: UInt8.self
                    )
                }
            }
            if all {
                copy(screen.luma.indices, screen.luma, &luma)
                copy(screen.chroma.indices, screen.chroma, &chroma)
            }
            for (column, row) in all ? [] : drawn {
                let ranges = screen.rows(column: column, row: row)
                for range in ranges.luma { copy(range, screen.luma, &luma) }
                for range in ranges.chroma { copy(range, screen.chroma, &chroma) }
            }
        }
    }

    /// A reader that holds a copy of the picture.
    private struct Follower: ~Copyable {
        var reader: FrameReader
        var picture: Model
        var seen: FrameInfo?
        var framesToSkip = 0
        var changes = 0

        init(_ reader: consuming FrameReader, _ screen: Model) {
            self.reader = reader
            picture = Model(screen.width, screen.height)
        }

        /// Takes over what changed since its last frame, and compares; or lets the frame pass.
        mutating func look(at screen: Model, skipping next: Int) throws {
            guard framesToSkip == 0 else { return framesToSkip -= 1 }
            framesToSkip = next
            let before = seen
            var (picture, changes) = (picture, changes)
            let outcome = try reader.read { frame in
                frame.forEachChange(after: before) { columns, row in
                    changes += columns.count
                    for column in columns { Self.copy(column, row, of: frame, to: &picture) }
                }
            }
            guard case .frame(let info) = outcome else { throw Unexpected(outcome) }
            (self.picture, self.changes, seen) = (picture, changes, info)
            #expect(picture == screen)
        }

        private static func copy(_ column: Int, _ row: Int, of frame: borrowing Frame, to picture: inout Model) {
            let (width, ranges) = (picture.width, picture.rows(column: column, row: row))
            func byte(_ index: Int, _ plane: RawSpan, _ stride: Int) -> UInt8 {
                plane.unsafeLoad(fromByteOffset: index / width * stride + index % width, as: UInt8.self)
            }
            for index in ranges.luma.joined() { picture.luma[index] = byte(index, frame.luma, frame.lumaStride) }
            for index in ranges.chroma.joined() {
                picture.chroma[index] = byte(index, frame.chroma, frame.chromaStride)
            }
        }
    }
}
