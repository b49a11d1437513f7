package import Access
import WebRTC

/// The secret in the link of an invitation. Its sender knows only the hash.
package struct InviteToken: Sendable {
    package let text: String

    package init(_ text: String) { self.text = text }

    // SHA-256 always makes 64 digits.
    package var hash: TokenHash { TokenHash(rawValue: sha256(of: text))! }
}
