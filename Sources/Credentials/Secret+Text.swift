package import Configuration
import Glibc
package import Helpers
import Posix
import Synchronization

/// The longest secret that is read, in bytes, with white space around it.
private let longestSecret = 16_384

extension Secret {
    /// A secret without white space at its ends; nil if it is nothing else.
    package init?(trimming text: String) {
        guard let text = trimmed(text) else { return nil }
        self = .given(text: text)
    }

    /// The secret now.
    ///
    /// - Parameter what: its name for people.
    /// - Returns: the text without white space at its ends; nil if its file is empty.
    package func text(_ what: String) throws(Failure) -> String? {
        switch self {
        case .given(let text): return text
        case .file(let path):
            do throws(SystemError) {
                // It may be a link, as those are that are renewed by another one.
                let file = FileDescriptor(taking: try check("open") { open(path, O_RDONLY | O_CLOEXEC) })
                return secret(from: try file.readBytes(longestSecret))
            } catch {
                throw Failure(.failed, "cannot read \(path) (\(error.reason)): give a file with the \(what)")
            }
        }
    }

    /// Starts the reader of the files among some secrets. Returns their texts at any later time, which takes up to a second.
    ///
    /// - Parameters:
    ///   - texts: of all now.
    ///   - what: the name of the files for people.
    ///   - isFit: whether a text can take the place of another one.
    package static func renewed(
        _ secrets: [Secret?],
        _ texts: [String?],
        _ what: String,
        _ ended: @escaping @Sendable (NamedFiles.End) -> Void,
        isFit: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws -> @Sendable () -> [String?] {
        let paths = secrets.map { $0?.path }
        if paths.allSatisfy({ $0 == nil }) { return { texts } }
        let files = try NamedFiles(paths.compactMap(\.self), what, ended: ended)
        return renewed(texts, in: paths.indices.filter { paths[$0] != nil }, from: files, isFit: isFit)
    }

    /// - Parameter places: which of the texts each file has.
    static func renewed(
        _ texts: [String?],
        in places: [Int],
        from files: NamedFiles,
        isFit: @escaping @Sendable (String) -> Bool = { _ in true }
    ) -> @Sendable () -> [String?] {
        let last = Mutex(texts)
        return {
            last.withLock { texts in
                for (place, bytes) in zip(places, files.read() ?? []) {
                    if let text = bytes.flatMap({ secret(from: $0) }), isFit(text) { texts[place] = text }
                }
                return texts
            }
        }
    }
}

/// The secret in a file's bytes; nil if it is empty.
func secret(from bytes: [UInt8]) -> String? { trimmed(String(decoding: bytes.prefix(longestSecret), as: UTF8.self)) }

private func trimmed(_ text: String) -> String? {
    let secret = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    return secret.isEmpty ? nil : secret
}
