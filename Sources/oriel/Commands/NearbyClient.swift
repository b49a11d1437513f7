import Configuration
import Helpers
import Nearby
import Pairing
import Posix
import Time

/// A command's way to the nearby process, which it starts if none runs.
final class NearbyClient {
    let signals: TerminationSignals
    let store: PairStore
    private let folder: NearbyFolder
    private(set) var connection: NearbyConnection

    init() throws {
        signals = try TerminationSignals()
        store = try PairStore()
        // What is wrong with the files is said here, and not by a process that comes up in vain.
        _ = (try store.pairs(), try store.ownName())
        folder = try NearbyFolder(of: store)
        connection = try Self.connect(folder)
    }

    /// After the process has ended, as when it gives way to that of a share.
    func reconnect() throws { connection = try Self.connect(folder) }

    /// - Throws: `Failure` if a process can neither be found nor started.
    private static func connect(_ folder: NearbyFolder) throws -> NearbyConnection {
        var child: ChildProcess?
        let connection = try NearbyConnection(in: folder) {
            let memory = try Handed.memory(of: NearbyProcessSettings())
            child = try ChildProcess(
                "/proc/self/exe",
                arguments: ["oriel", NearbyProcessSettings.command, Handed.flag],
                descriptors: [nil, nil, 2, memory.raw],
                tie: .session
            )
        }
        withExtendedLifetime(child) {}
        guard let connection else {
            throw Failure(.failed, "the process for devices nearby cannot be reached in \(folder.path): try again")
        }
        return connection
    }

    /// Has the process that runs, if one does, read the file of pairs anew.
    static func tellOfChange(in store: PairStore) throws {
        let connection = try NearbyConnection(in: try NearbyFolder(of: store), start: nil)
        try connection?.send(.reload)
        // It is done when the answer comes.
        let signals = try TerminationSignals()
        _ = try connection?.next(until: MonotonicClock.now() + Duration.seconds(2), signals)
    }
}

extension Failure {
    init(of failure: NearbyFailure, _ sentence: String) {
        let code: Code =
            switch failure {
            case .refused: .refused
            case .unavailable: .unavailable
            case .failed: .failed
            }
        self.init(code, sentence)
    }
}
