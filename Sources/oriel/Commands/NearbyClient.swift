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
    private static let patience = Duration.seconds(2)

    private let folder: NearbyFolder
    private let inbox: String?
    private(set) var connection: NearbyConnection

    /// - Parameter inbox: the folder for files that come, which the process gets at its start.
    init(inbox: String? = nil) throws {
        signals = try TerminationSignals()
        store = try PairStore()
        // What is wrong with the files is said here, and not by a process that comes up in vain.
        _ = (try store.pairs(), try store.ownName())
        folder = try NearbyFolder(of: store)
        self.inbox = inbox
        if inbox != nil { try Self.endOther(in: folder) }
        connection = try Self.connect(folder, inbox)
    }

    /// A process that has no folder for files, or another one, gives way.
    private static func endOther(in folder: NearbyFolder) throws {
        try NearbyConnection(in: folder, start: nil)?.send(.leave)
        guard try folder.waitUntilFree(patience: patience) else {
            throw Failure(.failed, "a share has the devices nearby: give --inbox to that one")
        }
    }

    /// After the process has ended, as when it gives way to that of a share.
    func reconnect() throws { connection = try Self.connect(folder, inbox) }

    /// - Throws: `Failure` if a process can neither be found nor started.
    private static func connect(_ folder: NearbyFolder, _ inbox: String?) throws -> NearbyConnection {
        var child: ChildProcess?
        let connection = try NearbyConnection(in: folder) {
            var settings = NearbyProcessSettings()
            settings.inbox = inbox
            let memory = try Handed.memory(of: settings)
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
