internal import COpenSSL

/// The key of a message's MESSAGE-INTEGRITY by long-term credentials (RFC 8489 §9.2.2, §18.5.1): their MD5. As in
/// libnice, texts are not prepared.
package func longTermKey(username: [UInt8], realm: [UInt8], password: String) -> [UInt8] {
    let colon = UInt8(ascii: ":")
    let text = username + [colon] + realm + [colon] + Array(password.utf8)
    var digest = [UInt8](repeating: 0, count: 16)
    EVP_Digest(text, text.count, &digest, nil, EVP_md5(), nil)
    return digest
}

/// RFC 2104.
func hmacSHA1(of message: [UInt8], key: [UInt8]) -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 20)
    var length: UInt32 = 20
    HMAC(EVP_sha1(), key, Int32(key.count), message, message.count, &digest, &length)
    return digest
}
