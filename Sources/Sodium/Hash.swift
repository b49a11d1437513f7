import CSodium

/// SHA-256 and SHA-512 (FIPS 180-4), and their HMAC (RFC 2104).
package enum Hash {
    /// 32 bytes.
    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        filled(Int(crypto_hash_sha256_BYTES)) { crypto_hash_sha256($0, bytes, UInt64(bytes.count)) }
    }

    /// 64 bytes.
    package static func sha512(_ bytes: [UInt8]) -> [UInt8] {
        filled(Int(crypto_hash_sha512_BYTES)) { crypto_hash_sha512($0, bytes, UInt64(bytes.count)) }
    }

    /// 32 bytes, of a key of any length.
    package static func hmacSHA256(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha256_state()
        crypto_auth_hmacsha256_init(&state, key, key.count)
        crypto_auth_hmacsha256_update(&state, bytes, UInt64(bytes.count))
        return filled(Int(crypto_auth_hmacsha256_BYTES)) { crypto_auth_hmacsha256_final(&state, $0) }
    }

    /// 64 bytes, of a key of any length.
    package static func hmacSHA512(key: [UInt8], _ bytes: [UInt8]) -> [UInt8] {
        var state = crypto_auth_hmacsha512_state()
        crypto_auth_hmacsha512_init(&state, key, key.count)
        crypto_auth_hmacsha512_update(&state, bytes, UInt64(bytes.count))
        return filled(Int(crypto_auth_hmacsha512_BYTES)) { crypto_auth_hmacsha512_final(&state, $0) }
    }

    /// Whether two texts are equal, in a time that tells nothing about the place of a difference.
    package static func areEqual(_ one: [UInt8], _ other: [UInt8]) -> Bool {
        one.count == other.count && sodium_memcmp(one, other, one.count) == 0
    }
}

/// None of the hash functions fails.
private func filled(_ count: Int, _ fill: (UnsafeMutablePointer<UInt8>) -> Int32) -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
        _ = fill(buffer.baseAddress!)
        filled = count
    }
}
