/// A secret, or its file. It goes on no command line and into no environment, which others may read: only into
/// `Handed`.
package enum Secret: Codable, Equatable, Sendable, CustomStringConvertible {
    /// The only content of a file, which is read when the secret is needed.
    case file(path: String)
    case given(text: String)

    /// The file; nil for a secret without one.
    package var path: String? { if case .file(let path) = self { path } else { nil } }

    /// Does not reveal the secret.
    package var description: String { path ?? "…" }
}
