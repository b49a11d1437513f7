import Glibc
import Posix
import Testing

@Suite struct FreedMemoryTests {
    /// However many there were before: of their size glibc would keep all that follow the first. In a process of its own, where no other
    /// test leaves a place that is large enough.
    @Test func largeBlocksGoBackAsSoonAsTheyAreFreed() async {
        await #expect(processExitsWith: .success) {
            let size = 30 << 20
            returnFreedMemory(ofBlocksFrom: size)
            let first = try #require(malloc(size))
            free(first)
            let block = try #require(malloc(size))
            #expect(isMappedAlone(block))
            free(block)
        }
    }
}

/// Whether a block has a mapping of its own, which `free` gives back: the second bit of the size in front of it (IS_MMAPPED in glibc's
/// malloc.c). Looking at the address afterwards would not tell, since another thread may have got it.
private func isMappedAlone(_ block: UnsafeMutableRawPointer) -> Bool {
    block.load(fromByteOffset: -MemoryLayout<UInt>.size, as: UInt.self) & 2 != 0
}
