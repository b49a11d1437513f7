internal import COpenSSL

/// The SHA-256 of a text (FIPS 180-4 §6.2), in 64 hexadecimal digits.
package func sha256(of text: String) -> String {
    let bytes = Array(text.utf8)
    var digest = [UInt8](repeating: 0, count: Int(SHA256_DIGEST_LENGTH))
    SHA256(bytes, bytes.count, &digest)
    return digest.map { byte in (byte < 0x10 ? "0" : "") + String(byte, radix: 16) }.joined()
}
