import CPosix

/// Returns large blocks of memory to the system as soon as they are freed (mallopt, M_MMAP_THRESHOLD), for programs
/// with bursts of need. Otherwise glibc keeps most of them, as they lie between smaller blocks in use. Each such block
/// costs two system calls.
///
/// - Parameter size: bytes of the smallest such block.
package func returnFreedMemory(ofBlocksFrom size: Int) { posix_memory_return(Int32(clamping: size)) }
