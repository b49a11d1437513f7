import CSodium

/// Numbers that nobody can guess.
package enum Randomness {
    package static func bytes(_ count: Int) -> [UInt8] {
        Library.require()
        return [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            randombytes_buf(buffer.baseAddress!, count)
            filled = count
        }
    }

    /// From 0 up to a bound, which it does not reach; each is as likely as the others.
    package static func number(below bound: UInt32) -> UInt32 {
        Library.require()
        return randombytes_uniform(bound)
    }
}

enum Library {
    private static let isReady = sodium_init() >= 0

    /// Random numbers and scalars need the library's own state.
    static func require() { precondition(isReady, "libsodium has no source of random numbers") }
}
