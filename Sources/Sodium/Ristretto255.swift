import CSodium

/// The group of prime order ristretto255 (RFC 9496). Elements and scalars are of 32 bytes.
package enum Ristretto255 {
    package static let length = Int(crypto_core_ristretto255_BYTES)

    /// A secret number.
    package static func randomScalar() -> [UInt8] {
        Library.require()
        return [UInt8](unsafeUninitializedCapacity: Int(crypto_core_ristretto255_SCALARBYTES)) { buffer, filled in
            crypto_core_ristretto255_scalar_random(buffer.baseAddress!)
            filled = Int(crypto_core_ristretto255_SCALARBYTES)
        }
    }

    /// The element that belongs to 64 uniform bytes (RFC 9496 §4.3.4).
    package static func element(of hash: [UInt8]) -> [UInt8] {
        precondition(hash.count == Int(crypto_core_ristretto255_HASHBYTES))
        return [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            crypto_core_ristretto255_from_hash(buffer.baseAddress!, hash)
            filled = length
        }
    }

    /// A multiple of an element.
    ///
    /// - Returns: nil if the element is not of the group, not canonical, or the multiple is the identity.
    package static func multiply(_ scalar: [UInt8], _ element: [UInt8]) -> [UInt8]? {
        guard scalar.count == Int(crypto_core_ristretto255_SCALARBYTES), element.count == length else { return nil }
        var isValid = false
        let product = [UInt8](unsafeUninitializedCapacity: length) { buffer, filled in
            isValid = crypto_scalarmult_ristretto255(buffer.baseAddress!, scalar, element) == 0
            filled = length
        }
        return isValid ? product : nil
    }
}
