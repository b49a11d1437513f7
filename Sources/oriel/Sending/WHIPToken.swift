import Synchronization

/// The bearer token of a WHIP server, as its file has it now.
final class WHIPToken: Sendable {
    private let file: NamedFiles
    /// What was read last.
    private let last: Mutex<String?>

    /// Starts what reads the file. Call it before the first thread starts.
    ///
    /// - Parameter token: what stands in the file now.
    init(in path: String, now token: String?) throws {
        file = try NamedFiles([path], "the token")
        last = Mutex(token)
    }

    /// What stands in the file now, or stood there when it could be read last. Waits a second at the most.
    func current() -> String? {
        last.withLock { last in
            if let bytes = file.read()?[0], let token = try? JoinedCallOptions.token(from: bytes) { last = token }
            return last
        }
    }
}
