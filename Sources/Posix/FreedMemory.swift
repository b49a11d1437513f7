import CPosix

/// Has blocks of memory go back to the system as soon as they are freed (mallopt, M_MMAP_THRESHOLD), for programs whose need comes in
/// bursts. Otherwise glibc keeps most of them: they lie between smaller blocks that are in use. Each such block costs two system calls.
///
/// - Parameter size: bytes of the smallest such block.
package func returnFreedMemory(ofBlocksFrom size: Int) { posix_memory_return(Int32(clamping: size)) }
