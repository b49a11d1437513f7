import ArgumentParser
import Glibc
import Helpers
import Posix

/// Where files of pairs go.
struct InboxOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Take files of pairs that may send some, into this folder.", valueName: "folder")
    )
    var inbox: String?

    /// The whole path; nil to take no files.
    var path: String? {
        get throws {
            guard let inbox else { return nil }
            do throws(SystemError) {
                _ = try FileDescriptor.open(inbox, O_RDONLY | O_DIRECTORY)
                let path = realpath(inbox, nil)
                defer { free(path) }
                guard let path else { throw SystemError("realpath") }
                return String(cString: path)
            } catch {
                throw Failure(.failed, "cannot use the folder \(inbox) (\(error.reason)): make it, or name another one")
            }
        }
    }
}
