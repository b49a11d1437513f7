import Glibc
package import Posix

/// A private directory that goes with its owner, together with all it holds.
package final class TemporaryDirectory: Sendable {
    package let path: String

    /// - Parameter owner: whose it is; nil for who runs the test.
    package init(of owner: OrdinaryUser? = nil) throws(SystemError) {
        var template = Array("/tmp/oriel-test.XXXXXX".utf8CString)
        guard mkdtemp(&template) != nil else { throw SystemError("mkdtemp") }
        path = String(decoding: template.dropLast().map(UInt8.init(bitPattern:)), as: UTF8.self)
        owner?.own(path)
    }

    deinit { Self.remove(path) }

    /// For the end of a program, which calls no `deinit`.
    package func remove() { Self.remove(path) }

    package func file(_ name: String) -> String { "\(path)/\(name)" }

    private static func remove(_ path: String) {
        var info = stat()
        guard lstat(path, &info) == 0 else { return }
        guard info.st_mode & S_IFMT == S_IFDIR, let directory = opendir(path) else {
            unlink(path)
            return
        }
        while let entry = readdir(directory) {
            let name = withUnsafeBytes(of: &entry.pointee.d_name) {
                String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self)
            }
            if name != "." && name != ".." { remove("\(path)/\(name)") }
        }
        closedir(directory)
        rmdir(path)
    }
}
