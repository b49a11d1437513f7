import CPosix

/// Anonymous memory that other processes may map, that nobody can shrink or grow, and that only its maker can write
/// (memfd_create, F_ADD_SEALS).
extension FileDescriptor {
    /// Makes such memory, empty and not yet sealed.
    ///
    /// - Parameter name: for people who look into `/proc`.
    package static func memory(_ name: String) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("memfd_create") { posix_memory_create(name) })
    }

    /// Seals the memory for ever. Writable mappings that exist stay writable.
    package func seal() throws(SystemError) { try check("F_ADD_SEALS") { posix_memory_seal(raw) } }

    /// Whether this is memory that `seal` has sealed, in whichever process.
    package var isSealed: Bool { posix_memory_is_sealed(raw) }
}
