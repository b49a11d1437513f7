import Configuration
import Glibc
import Helpers
import Posix

/// The longest secret that is read, in bytes, with white space around it.
private let longestSecret = 16_384

extension Secret {
    /// Variables of the environment that secrets may be in, as everybody on the machine can read a command line.
    enum Variable: String, CaseIterable {
        case token = "ORIEL_TOKEN"
        case turn = "ORIEL_TURN"
        case turnSecret = "ORIEL_TURN_SECRET"
        case whipToken = "ORIEL_WHIP_TOKEN"
        case janusSecret = "ORIEL_JANUS_SECRET"
        case janusToken = "ORIEL_JANUS_TOKEN"
        case janusPin = "ORIEL_JANUS_PIN"

        var text: String? { getenv(rawValue).map { String(cString: $0) } }

        /// Takes all out of the environment, so that no child process has them.
        static func removeAll() {
            for variable in allCases { unsetenv(variable.rawValue) }
        }
    }

    /// A secret in a file, if one is given, or else in a variable; nil if there is none.
    init?(in path: String?, or variable: Variable) {
        if let path {
            self = .file(path: path)
        } else if let text = variable.text.flatMap(trimmed) {
            self = .given(text: text)
        } else {
            return nil
        }
    }

    /// The secret now.
    ///
    /// - Parameter what: its name for people.
    /// - Returns: the text without white space at its ends; nil if its file is empty.
    func text(_ what: String) throws(Failure) -> String? {
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

    /// Starts the reader of the files among some secrets. Returns their texts at any later time.
    ///
    /// - Parameters:
    ///   - texts: of all now.
    ///   - what: the name of the files for people.
    ///   - ended: is called once if the files cannot be read any more.
    ///   - isFit: whether a text can take the place of another one.
    static func renewed(
        _ secrets: [Secret?],
        _ texts: [String?],
        _ what: String,
        _ ended: @escaping @Sendable (NamedFiles.End) -> Void,
        isFit: @escaping @Sendable (String) -> Bool = { _ in true }
    ) throws -> @Sendable () -> [String?] {
        let paths = secrets.map { $0?.path }
        if paths.allSatisfy({ $0 == nil }) { return { texts } }
        let files = try NamedFiles(paths.compactMap(\.self), what, ended: ended)
        return renewed(texts, in: paths.indices.filter { paths[$0] != nil }, from: files, isFit: isFit).current
    }

    /// - Parameter places: which of the texts each file has.
    static func renewed(
        _ texts: [String?],
        in places: [Int],
        from files: NamedFiles,
        isFit: @escaping @Sendable (String) -> Bool = { _ in true }
    ) -> RenewedValue<[String?]> {
        RenewedValue(texts, from: files) { texts, files in
            for (place, bytes) in zip(places, files) {
                if let text = bytes.flatMap({ secret(from: $0) }), isFit(text) { texts[place] = text }
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
