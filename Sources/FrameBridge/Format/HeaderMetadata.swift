import Glibc
import Posix

/// The common format of the headers of one kind of ring.
struct RingFormat {
    let magic: UInt64
    let major: UInt16
    let minor: UInt16
    let slotCount: Int
    /// Allowed sizes of a slot, in bytes.
    let slotBytes: ClosedRange<Int>
    /// The size of a slot is a multiple of this, in bytes.
    let slotAlignment: Int

    static let frames = RingFormat(
        magic: Layout.magic,
        major: Layout.major,
        minor: Layout.minor,
        slotCount: Layout.slotCount,
        slotBytes: Layout.page...Layout.mostSlotBytes,
        slotAlignment: Layout.page
    )
}

/// The part of the header page that never changes during a generation (bytes 0 to 63), as a checked copy.
struct HeaderMetadata: Equatable {
    let generation: UInt64
    let fileBytes: Int
    let slotStride: Int
    let slotsOffset: Int

    /// The metadata of a new generation with slots of a size.
    init(_ format: RingFormat, generation: UInt64, slotBytes: Int) {
        self.generation = generation
        slotStride = slotBytes
        slotsOffset = Layout.page
        fileBytes = slotsOffset + format.slotCount * slotStride
    }

    /// Writes the first 64 bytes of a file that nobody else can open yet.
    func store(as format: RingFormat, in mapping: Mapping) {
        typealias H = Layout.Header
        withUnsafeTemporaryAllocation(byteCount: H.constantBytes, alignment: 8) { bytes in
            bytes.put(format.magic, H.magic)
            bytes.put(Layout.byteOrderMark, H.byteOrderMark)
            bytes.put(format.major, H.major)
            bytes.put(format.minor, H.minor)
            bytes.put(UInt32(Layout.page), H.headerBytes)
            bytes.put(UInt32(format.slotCount), H.slotCount)
            bytes.put(generation, H.generation)
            bytes.put(UInt64(fileBytes), H.fileBytes)
            bytes.put(UInt64(slotStride), H.slotStride)
            bytes.put(UInt64(slotsOffset), H.slotsOffset)
            bytes.put(UInt32(bitPattern: getpid()), H.writerPID)
            bytes.put(CRC32C.checksum(UnsafeRawBufferPointer(rebasing: bytes[..<H.checksum]).bytes), H.checksum)
            mapping.store(UnsafeRawBufferPointer(bytes), 0)
        }
    }

    /// - Parameters:
    ///   - format: the expected kind of ring.
    ///   - copy: at least the first 64 bytes of the file.
    ///   - fileSize: the file's size according to the kernel.
    ///   - path: for the error's sentence.
    init(_ format: RingFormat, checking copy: RawSpan, fileSize: Int, path: String) throws(BridgeError) {
        typealias H = Layout.Header
        func fail(_ problem: String) -> BridgeError { .damaged(path: path, problem: problem) }
        guard copy.byteCount >= 64, fileSize >= Layout.page else { throw fail("too short for a header") }
        guard copy.get(H.magic, as: UInt64.self) == format.magic else { throw fail("another kind of file") }
        guard copy.get(H.byteOrderMark, as: UInt32.self) == Layout.byteOrderMark else {
            throw fail("foreign byte order")
        }
        let sum = CRC32C.checksum(copy.extracting(..<H.checksum))
        guard copy.get(H.checksum, as: UInt32.self) == sum else { throw fail("header checksum") }
        let major = copy.get(H.major, as: UInt16.self)
        guard major == format.major else {
            throw major > format.major
                ? .newerLayout(path: path, found: Int(major), supported: Int(format.major)) : fail("layout version")
        }
        guard copy.get(H.slotCount, as: UInt32.self) == format.slotCount else { throw fail("slot count") }
        generation = copy.get(H.generation, as: UInt64.self)
        guard generation != 0 else { throw fail("generation") }
        guard let fileBytes = Int(exactly: copy.get(H.fileBytes, as: UInt64.self)), fileBytes <= fileSize else {
            throw fail("shorter than it says")
        }
        guard let slotStride = Int(exactly: copy.get(H.slotStride, as: UInt64.self)),
            let slotsOffset = Int(exactly: copy.get(H.slotsOffset, as: UInt64.self)),
            format.slotBytes ~= slotStride, slotStride.isMultiple(of: format.slotAlignment),
            slotsOffset >= Layout.page,
            slotsOffset.isMultiple(of: Layout.page), slotsOffset <= fileBytes,
            slotStride <= (fileBytes - slotsOffset) / format.slotCount
        else { throw fail("slots") }
        self.fileBytes = fileBytes
        self.slotStride = slotStride
        self.slotsOffset = slotsOffset
    }

    func slotOffset(_ slot: Int) -> Int { slotsOffset + slot * slotStride }

    /// The offset of a word of the protocol, in bytes from the start of the file.
    func offset(of word: SharedWord) -> Int {
        switch word {
        case .sequence(let slot): slotOffset(slot) + Layout.Slot.sequence
        case .latest: Layout.Header.latest
        case .wake: Layout.Header.wake
        }
    }
}
