import Time

/// The first 128 bytes of a slot, as a checked copy.
struct SlotMetadata: Equatable {
    var info: FrameInfo
    let lumaStride: Int, chromaStride: Int
    let lumaOffset: Int, chromaOffset: Int
    let tilesOffset: Int, tileColumns: Int, tileRows: Int
    /// Equal to `tilesOffset` where the writer keeps no map of its own for the content.
    let contentOffset: Int

    /// Writes the first 128 bytes of a slot, with 0 for the sequence number.
    ///
    /// - Parameter changedTiles: the count of changed tiles; nil for all.
    static func encode(
        _ info: FrameInfo,
        _ plan: SlotPlan,
        changedTiles: Int?,
        into bytes: UnsafeMutableRawBufferPointer
    ) {
        typealias S = Layout.Slot
        bytes.initializeMemory(as: UInt8.self, repeating: 0)
        bytes.put(info.number, S.frameNumber)
        bytes.put(info.capturedAt.nanoseconds, S.capturedAt)
        bytes.put(info.publishedAt?.nanoseconds ?? 0, S.publishedAt)
        bytes.put(UInt32(info.width), S.width)
        bytes.put(UInt32(info.height), S.height)
        bytes.put(UInt32(plan.stride), S.lumaStride)
        bytes.put(UInt32(plan.stride), S.chromaStride)
        bytes.put(UInt32(plan.lumaOffset), S.lumaOffset)
        bytes.put(UInt32(plan.chromaOffset), S.chromaOffset)
        bytes.put(Layout.nv12, S.fourCC)
        bytes.put(Colour.bt601, S.matrix)
        bytes.put(Colour.limited, S.range)
        bytes.put(info.orientation.code, S.orientation)
        bytes.put(Int32(clamping: info.source.x), S.sourceX)
        bytes.put(Int32(clamping: info.source.y), S.sourceY)
        bytes.put(Int32(clamping: info.source.width), S.sourceWidth)
        bytes.put(Int32(clamping: info.source.height), S.sourceHeight)
        bytes.put(UInt32(Layout.tileSize), S.tileSize)
        bytes.put(UInt32(plan.tileColumns), S.tileColumns)
        bytes.put(UInt32(plan.tileRows), S.tileRows)
        bytes.put(UInt32(S.tiles), S.tilesOffset)
        bytes.put(UInt32(plan.contentOffset), S.contentOffset)
        let pixels = info.width * info.height
        let tilePixels = Layout.tileSize * Layout.tileSize
        bytes.put(UInt32(changedTiles.map { min($0 * tilePixels, pixels) } ?? pixels), S.changedPixels)
        bytes.put(
            CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[S.frameNumber..<S.checksum]).bytes),
            S.checksum
        )
    }

    /// Reads and checks a private copy of the first 128 bytes.
    ///
    /// - Throws: the name of the first invalid field.
    init(checking copy: RawSpan, slotBytes: Int) throws(Malformed) {
        typealias S = Layout.Slot
        func int(_ offset: Int) -> Int { Int(copy.get(offset, as: UInt32.self)) }
        func signed(_ offset: Int) -> Int { Int(copy.get(offset, as: Int32.self)) }

        let sum = CRC32C.checksum(copy.extracting(S.frameNumber..<S.checksum))
        guard copy.get(S.checksum, as: UInt32.self) == sum else { throw Malformed("slot checksum") }
        guard copy.get(S.fourCC, as: UInt32.self) == Layout.nv12 else { throw Malformed("pixel format") }
        guard copy.get(S.matrix, as: UInt8.self) == Colour.bt601, copy.get(S.range, as: UInt8.self) == Colour.limited
        else {
            throw Malformed("colour")
        }
        guard let orientation = Orientation(code: copy.get(S.orientation, as: UInt8.self)) else {
            throw Malformed("orientation")
        }
        guard let plan = SlotPlan(width: int(S.width), height: int(S.height)) else { throw Malformed("picture size") }
        // Both are below 2^32, and a plane below 2^46. Nothing here can overflow 64 bits.
        (lumaStride, chromaStride) = (int(S.lumaStride), int(S.chromaStride))
        (lumaOffset, chromaOffset) = (int(S.lumaOffset), int(S.chromaOffset))
        guard lumaStride >= plan.width, lumaOffset >= Layout.page, lumaOffset + lumaStride * plan.height <= slotBytes
        else { throw Malformed("luma plane") }
        guard chromaStride >= plan.width, chromaOffset >= Layout.page,
            chromaOffset + chromaStride * plan.height / 2 <= slotBytes
        else { throw Malformed("chroma plane") }
        tilesOffset = int(S.tilesOffset)
        contentOffset = int(S.contentOffset) == 0 ? tilesOffset : int(S.contentOffset)
        guard int(S.tileSize) == Layout.tileSize, int(S.tileColumns) == plan.tileColumns,
            int(S.tileRows) == plan.tileRows, tilesOffset >= Layout.page, tilesOffset.isMultiple(of: 4),
            tilesOffset + plan.tileColumns * plan.tileRows * 4 <= slotBytes
        else { throw Malformed("tile map") }
        guard contentOffset >= Layout.page, contentOffset.isMultiple(of: 4),
            contentOffset + plan.tileColumns * plan.tileRows * 4 <= slotBytes
        else { throw Malformed("content map") }

        info = FrameInfo(
            width: plan.width,
            height: plan.height,
            capturedAt: Instant(nanoseconds: copy.get(S.capturedAt, as: UInt64.self)),
            source: SourceRectangle(
                x: signed(S.sourceX),
                y: signed(S.sourceY),
                width: signed(S.sourceWidth),
                height: signed(S.sourceHeight)
            ),
            orientation: orientation
        )
        info.number = copy.get(S.frameNumber, as: UInt64.self)
        info.publishedAt = Instant(stored: copy.get(S.publishedAt, as: UInt64.self))
        (tileColumns, tileRows) = (plan.tileColumns, plan.tileRows)
    }
}

/// The fault of a file: the name of an invalid field, or a lack of bytes.
struct Malformed: Error, Equatable {
    static let shrunk = Malformed("shrunk while it was read")

    let field: String

    init(_ field: String) { self.field = field }
}
