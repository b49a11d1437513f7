import Media

/// The sizes in the headers of a frame. The libraries allocate memory by them before they read the rest: a few bytes
/// could take gigabytes.
enum AnnouncedSize {
    /// - Throws: for a size that `VideoDecoder` does not accept.
    static func check(_ frame: Span<UInt8>, _ codec: VideoCodec) throws(VideoDecoderError) {
        switch codec {
        case .vp8: try checkVP8(frame)
        case .vp9: try checkVP9(frame)
        case .av1: try checkAV1(frame)
        }
    }

    private static func check(_ width: Int, _ height: Int) throws(VideoDecoderError) {
        guard VideoDecoder.sides ~= width, VideoDecoder.sides ~= height else {
            throw .size(width: width, height: height)
        }
    }

    /// A keyframe has its size in 14 bits each (RFC 6386 §9.1).
    private static func checkVP8(_ frame: Span<UInt8>) throws(VideoDecoderError) {
        guard frame.count > 0, frame[0] & 1 == 0 else { return }
        guard frame.count >= 10 else { throw .truncated }
        func side(_ place: Int) -> Int { (Int(frame[place]) | Int(frame[place + 1]) << 8) & 0x3FFF }
        try check(side(6), side(8))
    }

    private static func checkVP9(_ frame: Span<UInt8>) throws(VideoDecoderError) {
        guard let index = VP9Index.size(in: frame) else { return try checkVP9Frame(frame) }
        let marker = frame[frame.count - 1]
        let (count, width) = (Int(marker & 7) + 1, Int(marker >> 3 & 3) + 1)
        var (start, place) = (0, frame.count - index + 1)
        for _ in 0..<count {
            var size = 0
            for byte in 0..<width { size |= Int(frame[place + byte]) << (8 * byte) }
            place += width
            guard size <= frame.count - index - start else { throw .truncated }
            try checkVP9Frame(frame.extracting(start..<start + size))
            start += size
        }
    }

    /// VP9 bitstream specification, §6.2.
    private static func checkVP9Frame(_ frame: Span<UInt8>) throws(VideoDecoderError) {
        if frame.count == 0 { return }
        var bits = BitReader(frame)
        _ = try bits.read(2)
        let profile = try bits.read(1) | bits.read(1) << 1
        guard profile == 0 else { throw .format }
        if try bits.read(1) == 1 { return }
        let (isInter, isShown) = (try bits.read(1) == 1, try bits.read(1) == 1)
        let isResilient = try bits.read(1) == 1
        if !isInter {
            _ = try bits.read(24)
            // The colour space and, unless it is RGB, the range.
            guard try bits.read(3) != 7 else { throw .format }
            _ = try bits.read(1)
            return try checkVP9Size(&bits)
        }
        let isIntraOnly = try isShown ? false : bits.read(1) == 1
        if !isResilient { _ = try bits.read(2) }
        if isIntraOnly {
            _ = try bits.read(24 + 8)
            return try checkVP9Size(&bits)
        }
        // The references: those to refresh, and three with their sign.
        _ = try bits.read(8 + 3 * 4)
        for _ in 0..<3 where try bits.read(1) == 1 { return }
        try checkVP9Size(&bits)
    }

    private static func checkVP9Size(_ bits: inout BitReader) throws(VideoDecoderError) {
        try check(try bits.read(16) + 1, try bits.read(16) + 1)
    }

    /// All OBUs with their sizes (AV1 §5.3). A frame is no larger than its sequence allows, which the library checks.
    private static func checkAV1(_ frame: Span<UInt8>) throws(VideoDecoderError) {
        var place = 0
        while place < frame.count {
            let header = frame[place]
            place += header & 4 == 0 ? 1 : 2
            guard header & 2 != 0 else { throw .truncated }
            var (size, shift) = (0, 0)
            while true {
                guard place < frame.count, shift < 35 else { throw .truncated }
                size |= Int(frame[place] & 0x7F) << shift
                shift += 7
                place += 1
                if frame[place - 1] & 0x80 == 0 { break }
            }
            guard size <= frame.count - place else { throw .truncated }
            if header >> 3 & 0x0F == 1 { try checkSequence(frame.extracting(place..<place + size)) }
            place += size
        }
    }

    /// AV1 §5.5.1.
    private static func checkSequence(_ header: Span<UInt8>) throws(VideoDecoderError) {
        var bits = BitReader(header)
        guard try bits.read(3) == 0 else { throw .format }
        _ = try bits.read(1)
        if try bits.read(1) == 1 {
            _ = try bits.read(5)
        } else {
            var delayLength: Int?
            if try bits.read(1) == 1 {
                _ = try bits.read(32)
                _ = try bits.read(32)
                if try bits.read(1) == 1 { try bits.skipUVLC() }
                if try bits.read(1) == 1 {
                    delayLength = try bits.read(5) + 1
                    _ = try bits.read(32 + 5 + 5)
                }
            }
            let hasDisplayDelay = try bits.read(1) == 1
            for _ in 0...(try bits.read(5)) {
                _ = try bits.read(12)
                if try bits.read(5) > 7 { _ = try bits.read(1) }
                if let delayLength, try bits.read(1) == 1 {
                    _ = try bits.read(delayLength)
                    _ = try bits.read(delayLength)
                    _ = try bits.read(1)
                }
                if hasDisplayDelay, try bits.read(1) == 1 { _ = try bits.read(4) }
            }
        }
        let (width, height) = (try bits.read(4) + 1, try bits.read(4) + 1)
        try check(try bits.read(width) + 1, try bits.read(height) + 1)
    }
}

/// The index with the sizes of frames at the end of a superframe (VP9 bitstream specification, annex B).
enum VP9Index {
    /// The bytes of the index; nil if there is none.
    static func size(in frame: Span<UInt8>) -> Int? {
        guard frame.count > 0 else { return nil }
        let marker = frame[frame.count - 1]
        let size = 2 + (Int(marker & 7) + 1) * (Int(marker >> 3 & 3) + 1)
        guard marker & 0xE0 == 0xC0, frame.count >= size, frame[frame.count - size] == marker else { return nil }
        return size
    }

    /// A frame with an index. Without one, libvpx would also decode bytes behind the frame, with unchecked sizes.
    static func adding(to frame: Span<UInt8>) -> [UInt8] {
        // One frame, with its size in four bytes.
        let marker: UInt8 = 0b110_11_000
        var bytes = frame.withUnsafeBufferPointer { Array($0) }
        bytes.append(marker)
        for shift in [0, 8, 16, 24] { bytes.append(UInt8(truncatingIfNeeded: frame.count >> shift)) }
        bytes.append(marker)
        return bytes
    }
}

/// Reads bits, the most significant of each byte first.
private struct BitReader: ~Escapable {
    private let bytes: Span<UInt8>
    private var place = 0

    @_lifetime(copy bytes)
    init(_ bytes: Span<UInt8>) { self.bytes = bytes }

    /// - Parameter count: 56 at the most.
    @_lifetime(self: copy self)
    mutating func read(_ count: Int) throws(VideoDecoderError) -> Int {
        guard count <= bytes.count * 8 - place else { throw .truncated }
        var value = 0
        for bit in place..<place + count { value = value << 1 | Int(bytes[bit / 8] >> (7 - bit % 8) & 1) }
        place += count
        return value
    }

    /// AV1 §4.10.3.
    @_lifetime(self: copy self)
    mutating func skipUVLC() throws(VideoDecoderError) {
        var zeros = 0
        while try read(1) == 0 { zeros += 1 }
        if zeros < 32 { _ = try read(zeros) }
    }
}
