import Glibc
import Posix

/// In bytes, with white space around it.
private let longestSecret = 16_384

/// What stands in a file, or else in the environment: everybody on the machine can read a command line.
///
/// - Parameter what: the secret's name for people.
/// - Returns: the text without white space at its ends; nil for nothing.
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

/// The same of a file's bytes.
func secret(from bytes: [UInt8]) -> String? { secret(String(decoding: bytes.prefix(longestSecret), as: UTF8.self)) }

private func secret(_ text: String) -> String? {
    let secret = String(text.drop(while: \.isWhitespace).reversed().drop(while: \.isWhitespace).reversed())
    return secret.isEmpty ? nil : secret
}
