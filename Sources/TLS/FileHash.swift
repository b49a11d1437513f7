internal import COpenSSL

/// SHA-256 (FIPS 180-4) of bytes that come in pieces, as those of a file. OpenSSL's is several times as fast as libsodium's, where the
/// processor helps.
package final class FileHash {
    private let context: OpaquePointer

    /// - Returns: nil without memory.
    package init?() {
        guard let context = EVP_MD_CTX_new() else { return nil }
        self.context = context
        guard EVP_DigestInit_ex(context, EVP_sha256(), nil) == 1 else { return nil }
    }

    deinit { EVP_MD_CTX_free(context) }

    package func update(_ bytes: [UInt8]) { EVP_DigestUpdate(context, bytes, bytes.count) }

    /// 32 bytes, of all that came before.
    package func finish() -> [UInt8] {
        var (bytes, count) = ([UInt8](repeating: 0, count: Int(EVP_MAX_MD_SIZE)), UInt32(0))
        EVP_DigestFinal_ex(context, &bytes, &count)
        return Array(bytes[..<Int(count)])
    }
}
