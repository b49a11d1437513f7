import Time

/// The layout of a frames file. All integers are little-endian, all times are nanoseconds of CLOCK_MONOTONIC. The file
/// is one header page and `slotCount` slots. A slot is a page of metadata, the maps of tile and content versions, the luma
/// plane and the interleaved chroma plane; metadata, maps and planes begin on a page boundary.
enum Layout {
    static let magic: UInt64 = 0x3156_464C_4549_524F  // "ORIELFV1"
    static let byteOrderMark: UInt32 = 0x0102_0304
    static let major: UInt16 = 2
    static let minor: UInt16 = 1
    static let page = 4096
    static let slotCount = 3
    static let tileSize = 64
    static let maximumDimension = 16384
    /// More than the largest picture takes. So a damaged header cannot demand any amount of memory.
    static let mostSlotBytes = 1 << 29
    static let nv12: UInt32 = 0x3231_564E  // "NV12"

    /// Offsets in the header page. Bytes 0 to 127 keep their meaning in every version; bytes without a name here are 0.
    /// Every ring has `heartbeat`, `state`, `horizon`, `stateSince` and `wake` (`RingHeader`). The rest is for frames.
    enum Header {
        static let magic = 0
        static let byteOrderMark = 8
        static let major = 12
        static let minor = 14
        static let headerBytes = 16
        static let slotCount = 20
        static let generation = 24
        static let fileBytes = 32
        static let slotStride = 40
        static let slotsOffset = 48
        static let writerPID = 56  // for people
        static let checksum = 60  // CRC-32C of bytes 0 to 59
        static let constantBytes = 64
        static let latest = 64  // frame number << 8 | slot; 0 while there is none
        static let heartbeat = 72
        static let state = 80
        static let published = 88
        static let horizon = 96  // captures before this instant must not be shown
        static let stateSince = 104
        static let wake = 128  // 32 bits, alone on its cache line
        static let source = 192  // UTF-8, zero-padded
        static let sourceBytes = 128
        static let framesPerSecond = 320
    }

    /// Offsets in a slot's metadata page; bytes without a name here are 0.
    enum Slot {
        static let sequence = 0  // odd while the slot is being written
        static let frameNumber = 8
        static let capturedAt = 16
        static let publishedAt = 24
        static let width = 32
        static let height = 36
        static let lumaStride = 40
        static let chromaStride = 44
        static let lumaOffset = 48
        static let chromaOffset = 52
        static let fourCC = 56
        static let matrix = 60
        static let range = 61
        static let orientation = 62
        static let sourceX = 64
        static let sourceY = 68
        static let sourceWidth = 72
        static let sourceHeight = 76
        static let tileSize = 96
        static let tileColumns = 100
        static let tileRows = 104
        static let tilesOffset = 108
        static let changedPixels = 112
        static let contentOffset = 116  // 0 before version 2.1
        static let checksum = 120  // CRC-32C of bytes 8 to 119
        static let metadataBytes = 128
        static let tiles = 4096
    }

    static func roundUpToPage(_ bytes: Int) -> Int { (bytes + page - 1) / page * page }
}

/// The offsets of a picture's parts in its slot, in bytes from the slot's start.
struct SlotPlan: Equatable {
    let width: Int, height: Int
    let stride: Int
    let tileColumns: Int, tileRows: Int
    let contentOffset: Int
    let lumaOffset: Int, chromaOffset: Int
    let byteCount: Int

    /// Nil unless both sizes are even and in 2...16384.
    init?(width: Int, height: Int) {
        let sizes = 2...Layout.maximumDimension
        guard sizes ~= width, sizes ~= height, width.isMultiple(of: 2), height.isMultiple(of: 2) else { return nil }
        self.width = width
        self.height = height
        stride = (width + 63) / 64 * 64
        tileColumns = (width + Layout.tileSize - 1) / Layout.tileSize
        tileRows = (height + Layout.tileSize - 1) / Layout.tileSize
        let mapBytes = tileColumns * tileRows * 4
        contentOffset = Layout.Slot.tiles + mapBytes
        lumaOffset = Layout.Slot.tiles + Layout.roundUpToPage(mapBytes * 2)
        chromaOffset = lumaOffset + Layout.roundUpToPage(stride * height)
        byteCount = chromaOffset + Layout.roundUpToPage(stride * height / 2)
    }
}

extension Instant {
    /// An instant in a file; 0 means none.
    init?(stored nanoseconds: UInt64) {
        guard nanoseconds != 0 else { return nil }
        self.init(nanoseconds: nanoseconds)
    }
}

extension RawSpan {
    /// The integer at an offset, which need not be aligned.
    func get<Value: FixedWidthInteger & BitwiseCopyable>(_ offset: Int, as type: Value.Type) -> Value {
        unsafeLoadUnaligned(fromByteOffset: offset, as: type)
    }
}

extension UnsafeMutableRawBufferPointer {
    func put<Value: FixedWidthInteger & BitwiseCopyable>(_ value: Value, _ offset: Int) {
        storeBytes(of: value, toByteOffset: offset, as: Value.self)
    }
}
