import Containers
import TestSupport
import Testing

@Suite struct CMAFTests {
    /// A box as a reader finds it.
    private struct Box {
        let type: String
        let start: Int
        let content: ArraySlice<UInt8>

        static func all(in bytes: ArraySlice<UInt8>) -> [Box] {
            var (boxes, rest): ([Box], ArraySlice<UInt8>) = ([], bytes)
            while rest.count >= 8 {
                let size = number(rest, 0, 4)
                guard 8...rest.count ~= size else { break }
                let type = String(decoding: rest.dropFirst(4).prefix(4), as: UTF8.self)
                boxes.append(Box(type: type, start: rest.startIndex, content: rest.prefix(size).dropFirst(8)))
                rest = rest.dropFirst(size)
            }
            #expect(rest.isEmpty, "boxes fill all")
            return boxes
        }

        static func number(_ bytes: ArraySlice<UInt8>, _ offset: Int, _ count: Int) -> Int {
            bytes.dropFirst(offset).prefix(count).reduce(0) { $0 << 8 | Int($1) }
        }
    }

    private static func path(_ names: [String], in bytes: ArraySlice<UInt8>) -> Box? {
        var (found, rest): (Box?, ArraySlice<UInt8>) = (nil, bytes)
        for name in names {
            found = Box.all(in: rest).first { $0.type == name }
            guard let next = found else { return nil }
            rest = next.content
        }
        return found
    }

    @Test(arguments: [CMAFTrack.vp9(width: 640, height: 480), .opus(channels: 2)])
    func aHeaderHasItsBoxes(track: CMAFTrack) {
        let boxes = Box.all(in: track.header[...])
        #expect(boxes.map(\.type) == ["ftyp", "moov"])
        let moov = Box.all(in: boxes[1].content)
        #expect(moov.map(\.type) == ["mvhd", "trak", "mvex"])
        let table = Self.path(["moov", "trak", "mdia", "minf", "stbl"], in: track.header[...])
        #expect(table.map { Box.all(in: $0.content).map(\.type) } == ["stsd", "stts", "stsc", "stco", "stsz"])
        let media = Self.path(["moov", "trak", "mdia", "mdhd"], in: track.header[...])
        #expect(media.map { Box.number($0.content, 12, 4) } == track.timescale)
        let tkhd = Self.path(["moov", "trak", "tkhd"], in: track.header[...])
        #expect(tkhd.map { Box.number($0.content, 76, 2) } == (track.isPicture ? 640 : 0))
        #expect(tkhd?.content.count == 84, "ISO/IEC 14496-12 §8.3.2, version 0")
    }

    /// A reader comes to the bytes of each sample.
    @Test(arguments: 0..<20) func everySampleIsFound(seed: UInt64) {
        var random = SplitMix(seed: seed)
        let samples = (0..<Int.random(in: 1...100, using: &random)).map { index in
            let count = Int.random(in: 1...300, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: 0...255, using: &random) }
            return CMAFSegment.Sample(bytes, duration: .random(in: 1...100_000, using: &random), isKeyframe: index == 0)
        }
        let segment = CMAFSegment(
            of: .vp9(width: 64, height: 48),
            number: 7,
            at: 1 << 40,
            date: 1_800_000_000,
            samples
        )
        let bytes = segment.bytes
        let boxes = Box.all(in: bytes[...])
        #expect(boxes.map(\.type) == ["styp", "prft", "moof", "mdat"])
        let time = Self.path(["moof", "traf", "tfdt"], in: bytes[...])
        #expect(time.map { Box.number($0.content, 4, 8) } == 1 << 40)
        guard let run = Self.path(["moof", "traf", "trun"], in: bytes[...])?.content else {
            Issue.record("no run")
            return
        }
        #expect(Box.number(run, 4, 4) == samples.count)
        var place = boxes[2].start + Box.number(run, 8, 4)
        for (index, sample) in samples.enumerated() {
            let entry = run.dropFirst(12 + index * 12)
            #expect(Box.number(entry, 0, 4) == sample.duration)
            let size = Box.number(entry, 4, 4)
            #expect(Array(bytes[place..<place + size]) == sample.bytes)
            #expect((Box.number(entry, 8, 4) == 0x0200_0000) == sample.isKeyframe)
            place += size
        }
        #expect(place == bytes.count)
    }

    @Test(arguments: [(CMAFSegment.Mark.filler, "slat"), (.last, "lmsg")])
    func marksAreBrands(mark: CMAFSegment.Mark, brand: String) {
        let sample = CMAFSegment.Sample([1], duration: 1, isKeyframe: true)
        let segment = CMAFSegment(of: .opus(channels: 2), number: 1, at: 0, date: 0, [sample], mark: mark)
        #expect(segment.bytes[20..<24].elementsEqual(brand.utf8))
    }
}
