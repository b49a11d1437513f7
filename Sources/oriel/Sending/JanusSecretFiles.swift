import Calls
import Synchronization

/// The secrets of a Janus server, as their files have them now.
final class JanusSecretFiles: Sendable {
    typealias Field = WritableKeyPath<JanusSecrets, String?> & Sendable

    private let fields: [any Field]
    private let files: NamedFiles
    /// The secrets that were read last, and those that are in no file.
    private let last: Mutex<JanusSecrets>

    /// - Parameters:
    ///   - fields: the secret that each file has.
    ///   - files: reads them, in this order.
    ///   - secrets: the secrets in the files now, and those that are in no file.
    init(of fields: [any Field], by files: NamedFiles, now secrets: JanusSecrets) {
        (self.fields, self.files) = (fields, files)
        last = Mutex(secrets)
    }

    /// The secrets in the files now, or when each could be read last. Waits a second at the most.
    func current() -> JanusSecrets {
        last.withLock { last in
            for (field, bytes) in zip(fields, files.read() ?? []) {
                if let text = bytes.flatMap({ secret(from: $0) }) { last[keyPath: field] = text }
            }
            return last
        }
    }
}
