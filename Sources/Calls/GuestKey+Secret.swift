import Access
import WebRTC

extension GuestKey {
    /// The key of the owner of this secret, or of this certificate.
    init?(of secret: String) { self.init(sha256(of: secret)) }
}
