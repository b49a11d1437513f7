import Synchronization

/// The bearer token of a WHIP server, as its file has it now.
final class WHIPToken: Sendable {
    private let file: NamedFiles
    /// The token that was read last.
    private let last: Mutex<String?>

    /// Starts the process that reads the file. Call it before the first thread starts.
    ///
    /// - Parameters:
    ///   - token: the token in the file now.
    ///   - readerEnded: is called once if the file cannot be read any more.
    init(
        in path: String,
        now token: String?,
        readerEnded: @escaping @Sendable (NamedFiles.End) -> Void
    ) throws {
        file = try NamedFiles([path], "the token", ended: readerEnded)
        last = Mutex(token)
    }

    /// The token in the file now, or when it could be read last. Waits a second at the most.
    func current() -> String? {
        last.withLock { last in
            if let bytes = file.read()?[0], let token = try? JoinedCallOptions.token(from: bytes) { last = token }
            return last
        }
    }
}
