import Glibc

/// Bytes that end where an unreadable page begins: reading or writing one byte too far ends the test process.
/// The bytes of the page before the first one hold a pattern, which `isIntact` looks for.
final class GuardedBytes {
    let bytes: UnsafeMutableRawBufferPointer
    private let pages: UnsafeMutableRawBufferPointer
    private static let pageSize = Int(sysconf(Int32(_SC_PAGESIZE)))
    private static let pattern: UInt8 = 0xa5

    init(count: Int) {
        let usable = (count + Self.pageSize) / Self.pageSize * Self.pageSize
        let base = mmap(
            nil,
            usable + Self.pageSize,
            PROT_READ | PROT_WRITE,
            MAP_PRIVATE | MAP_ANONYMOUS,
            -1,
            0
        )!
        precondition(base != MAP_FAILED && mprotect(base + usable, Self.pageSize, PROT_NONE) == 0)
        pages = UnsafeMutableRawBufferPointer(start: base, count: usable + Self.pageSize)
        bytes = UnsafeMutableRawBufferPointer(start: base + usable - count, count: count)
        memset(base, Int32(Self.pattern), usable)
    }

    convenience init(_ contents: [UInt8]) {
        self.init(count: contents.count)
        bytes.copyBytes(from: contents)
    }

    deinit { munmap(pages.baseAddress!, pages.count) }

    var isIntact: Bool {
        pages[..<(pages.count - Self.pageSize - bytes.count)].allSatisfy { $0 == Self.pattern }
    }

    var contents: [UInt8] { [UInt8](bytes) }
}
