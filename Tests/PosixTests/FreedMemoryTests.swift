import Glibc
import Posix
import Testing

@Suite struct FreedMemoryTests {
    /// However many there were before: of their size glibc would keep all that follow the first.
    @Test func largeBlocksGoBackAsSoonAsTheyAreFreed() throws {
        // Larger ones than other tests of this process have.
        let size = 30 << 20
        returnFreedMemory(ofBlocksFrom: size)
        free(malloc(size))
        let block = try #require(malloc(size))
        defer { free(block) }
        #expect(isMappedAlone(block))
    }

    /// Whether a block has a mapping of its own, which `free` gives back: the second bit of the size in front of it (IS_MMAPPED in glibc's
    /// malloc.c). Looking at the address afterwards would not tell, since another thread may have got it.
    private func isMappedAlone(_ block: UnsafeMutableRawPointer) -> Bool {
        block.load(fromByteOffset: -MemoryLayout<UInt>.size, as: UInt.self) & 2 != 0
    }
}
