/// A secret, or where it is. It goes on no command line and into no environment, which others may read: only into `Handed`.
package enum Secret: Codable, Equatable, Sendable, CustomStringConvertible {
    /// Alone in a file, which is read where the secret is needed.
    case file(path: String)
    case given(text: String)

    /// The file; nil for a secret that is in none.
    package var path: String? { if case .file(let path) = self { path } else { nil } }

    /// Does not tell it.
    package var description: String { path ?? "…" }
}
