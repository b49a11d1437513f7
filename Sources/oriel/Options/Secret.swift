import Glibc
import Posix

/// The longest secret that is read, in bytes, with white space around it.
private let longestSecret = 16_384

/// Reads a secret from a file, or else from the environment: everybody on the machine can read a command line.
///
/// - Parameter what: the secret's name for people.
/// - Returns: the text without white space at its ends; nil if it is empty.
/// - Throws: a `Failure` if the file cannot be read.
func secret(in path: String?, or variable: String, _ what: String) throws -> String? {
    if let path {
        do throws(SystemError) {
            // It may be a link, as those are that are renewed by another one.
            let file = FileDescriptor(taking: try check("open") { open(path, O_RDONLY | O_CLOEXEC) })
            return secret(from: try file.readBytes(longestSecret))
        } catch {
            throw Failure(.failed, "cannot read \(path) (\(error.reason)): give a file with the \(what)")
        }
    }
    return secret(getenv(variable).map { String(cString: $0) } ?? "")
}

/// The secret in a file's bytes; nil if it is empty.
func secret(from bytes: [UInt8]) -> String? { secret(String(decoding: bytes.prefix(longestSecret), as: UTF8.self)) }

private func secret(_ text: String) -> String? {
    let secret = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    return secret.isEmpty ? nil : secret
}
