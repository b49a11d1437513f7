import Access
import WebRTC

extension GuestKey {
    /// The key of whoever shows this secret, or this certificate.
    init?(of secret: String) { self.init(sha256(of: secret)) }
}
