import CPosix

/// Anonymous memory that other processes may map, and that nobody can shrink, grow, or, but for who made it, write
/// (memfd_create, F_ADD_SEALS).
extension FileDescriptor {
    /// Makes some, empty and not yet sealed.
    ///
    /// - Parameter name: for people who look into `/proc`.
    package static func memory(_ name: String) throws(SystemError) -> FileDescriptor {
        FileDescriptor(taking: try check("memfd_create") { posix_memory_create(name) })
    }

    /// Seals it for ever. Writable mappings that are there stay so.
    package func seal() throws(SystemError) { try check("F_ADD_SEALS") { posix_memory_seal(raw) } }

    /// Whether it is memory that was sealed so.
    package var isSealed: Bool { posix_memory_is_sealed(raw) }
}
