/// Protection profiles by their numbers in DTLS (RFC 5764 §4.1.2, RFC 7714 §14.2).
package enum SRTPProfile: UInt16, Sendable {
    case aes128CounterSHA1 = 0x0001
    case aes128GCM = 0x0007
    case aes256GCM = 0x0008

    /// The cheapest first.
    static let preferred = [Self.aes128GCM, .aes256GCM, .aes128CounterSHA1]

    /// OpenSSL's name.
    package var name: String {
        switch self {
        case .aes128CounterSHA1: "SRTP_AES128_CM_SHA1_80"
        case .aes128GCM: "SRTP_AEAD_AES_128_GCM"
        case .aes256GCM: "SRTP_AEAD_AES_256_GCM"
        }
    }

    /// Bytes of a master key.
    var keySize: Int { self == .aes256GCM ? 32 : 16 }

    /// Bytes of a master salt.
    var saltSize: Int { self == .aes128CounterSHA1 ? 14 : 12 }
}

/// The keys of both directions, each a master key and then its salt.
struct SRTPKeys {
    let profile: SRTPProfile
    let sending: [UInt8]
    let receiving: [UInt8]

    /// - Parameter material: client key, server key, client salt, server salt (RFC 5764 §4.2).
    init(_ profile: SRTPProfile, material: [UInt8], role: DTLSRole) {
        let (key, salt) = (profile.keySize, profile.saltSize)
        precondition(material.count == 2 * (key + salt))
        let client = Array(material[0..<key] + material[2 * key..<2 * key + salt])
        let server = Array(material[key..<2 * key] + material[2 * key + salt..<2 * (key + salt)])
        self.profile = profile
        (sending, receiving) = role == .client ? (client, server) : (server, client)
    }
}
