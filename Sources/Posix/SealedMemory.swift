import CPosix

/// Anonymous memory that other processes may map. Nobody can shrink or grow it, and only its maker can write it
/// (memfd_create, F_ADD_SEALS).
extension FileDescriptor {
    /// Makes such memory, empty and not yet sealed.
    ///
    /// - Parameter name: for people who look into `/proc`.
    package static func memory(_ name: String) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("memfd_create") { posix_memory_create(name) })
    }

    /// Seals the memory for ever. Existing writable mappings stay writable.
    package func seal() throws(SystemError) { try check("F_ADD_SEALS") { posix_memory_seal(raw) } }

    /// Whether this is memory that any process has sealed with `seal`.
    package var isSealed: Bool { posix_memory_is_sealed(raw) }
}
