import Sodium

/// How two paired devices recognise each other on a link: each proves that it has the secret of the pair, for this certificate and these
/// nonces alone. A device that is no pair learns nothing of either side.
package struct LinkProof: Equatable, Sendable {
    package static let macLength = 32

    private let key: [UInt8]
    private let text: [UInt8]

    /// - Parameters:
    ///   - secret: of the pair.
    ///   - certificate: the SHA-256 of the server's certificate (DER).
    ///   - isAnew: whether the client gives up another link of the pair.
    package init(
        secret: [UInt8],
        certificate: [UInt8],
        serverNonce: [UInt8],
        clientNonce: [UInt8],
        isAnew: Bool = false
    ) {
        key = Hash.hmacSHA256(key: secret, Array("auth".utf8))
        text = certificate + serverNonce + clientNonce + [isAnew ? 1 : 0]
    }

    package var ofClient: [UInt8] { Hash.hmacSHA256(key: key, Array("c".utf8) + text) }
    package var ofServer: [UInt8] { Hash.hmacSHA256(key: key, Array("s".utf8) + text) }

    package func isClient(_ mac: [UInt8]) -> Bool { Hash.areEqual(mac, ofClient) }
    package func isServer(_ mac: [UInt8]) -> Bool { Hash.areEqual(mac, ofServer) }
}
