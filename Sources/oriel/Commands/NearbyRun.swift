import Configuration
import Glibc
import Helpers
import Nearby
import Pairing
import Posix
import Time

extension NearbyProcessSettings {
    static let command = "nearby-process"
    /// How long a share waits for the process of a command to end.
    private static let patience = Duration.seconds(5)

    /// Runs the process that has the devices nearby, unless another one of this user runs.
    func run() throws {
        let signals = try TerminationSignals()
        let store = try PairStore()
        let folder = try NearbyFolder(of: store)
        guard let hold = try hold(in: folder, until: signals) else { return }
        defer { withExtendedLifetime(hold) {} }
        let control = try folder.listen(hold)
        let process = try NearbyProcess(
            visibility,
            name: try Self.ownName(in: store),
            isLasting: isLasting,
            inbox: inbox,
            store: store,
            control: control
        )
        let sandbox = Sandbox.ofNearby(folder.path, inbox: inbox)
        try enterSandbox(by: sandbox.enter)
        try process.run(until: signals)
    }

    /// The process of a command gives way to that of a share.
    private func hold(
        in folder: NearbyFolder,
        until signals: borrowing TerminationSignals
    ) throws -> NearbyFolder.Hold? {
        let deadline: Instant = MonotonicClock.now() + Self.patience
        while true {
            if let hold = try folder.hold() { return hold }
            guard isLasting, !signals.take() else { return nil }
            guard MonotonicClock.now() < deadline else {
                throw Failure(.failed, "another share has the devices nearby: leave out --nearby here, or end that one")
            }
            try? NearbyConnection(in: folder, start: nil)?.send(.leave)
            MonotonicClock.sleep(for: .milliseconds(50))
        }
    }

    /// As this device calls itself.
    static func ownName(in store: PairStore) throws(PairStoreError) -> String {
        if let name = try store.ownName() { return name }
        let host = hostName()
        return host.isEmpty ? "device" : host
    }
}

extension Sandbox {
    /// The local network, and the pairs.
    fileprivate static func ofNearby(_ folder: String, inbox: String?) -> Sandbox {
        var sandbox = Sandbox(
            writable: folder,
            readable: [],
            socketFamilies: [AF_INET, AF_INET6, AF_NETLINK]
        )
        (sandbox.mayListen, sandbox.alsoWritable) = (true, inbox)
        return sandbox
    }
}
