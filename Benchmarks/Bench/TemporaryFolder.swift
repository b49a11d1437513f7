import Foundation
import Synchronization

/// A private folder that goes away with its owner.
final class TemporaryFolder: Sendable {
    private static let paths = Mutex<Set<String>>([])
    let path: String

    /// - Parameter isInMemory: in a tmpfs, as a user's runtime directory is.
    init(isInMemory: Bool = false) throws {
        let parent = isInMemory ? "/dev/shm" : FileManager.default.temporaryDirectory.path
        let path = parent + "/oriel-bench-" + UUID().uuidString
        try FileManager.default.createDirectory(
            atPath: path,
            withIntermediateDirectories: false,
            attributes: [.posixPermissions: 0o700]
        )
        Self.paths.withLock { _ = $0.insert(path) }
        self.path = path
    }

    deinit {
        let path = path
        try? FileManager.default.removeItem(atPath: path)
        Self.paths.withLock { _ = $0.remove(path) }
    }

    static func removeAll() {
        for path in paths.withLock({ $0 }) { try? FileManager.default.removeItem(atPath: path) }
    }
}
