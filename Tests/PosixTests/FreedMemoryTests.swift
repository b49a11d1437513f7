import Glibc
import Posix
import Testing

@Suite struct FreedMemoryTests {
    /// However many there were before: of their size glibc would keep all that follow the first.
    @Test func largeBlocksGoBackAsSoonAsTheyAreFreed() {
        // Larger ones than other tests of this process have.
        let size = 30 << 20
        returnFreedMemory(ofBlocksFrom: size)
        let isBack = (0..<5).contains { _ in
            free(malloc(size))
            let block = malloc(size)
            let next = malloc(4096)
            free(block)
            defer { free(next) }
            // Another thread may have got the place at once.
            return !isMapped(block)
        }
        #expect(isBack)
    }

    private func isMapped(_ block: UnsafeMutableRawPointer?) -> Bool {
        let page = UInt(bitPattern: block) & ~UInt(getpagesize() - 1)
        var state: UInt8 = 0
        return mincore(UnsafeMutableRawPointer(bitPattern: page), 1, &state) == 0
    }
}
