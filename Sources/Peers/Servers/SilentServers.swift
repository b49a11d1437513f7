import ICE

/// The silent STUN and TURN servers, which no agent waits for. On the network thread.
final class SilentServers {
    var servers: [ICEServer] = []
    /// Whether the servers are to be probed again: a peer has waited for one in vain, or does without a silent one.
    private var isInDoubt = false

    /// An agent's configuration without them.
    func leftOut(of configuration: ICEAgent.Configuration) -> ICEAgent.Configuration {
        var configuration = configuration
        configuration.servers.removeAll { servers.contains($0) }
        return configuration
    }

    func doubt() { isInDoubt = true }

    /// The answer is given once.
    func takeDoubt() -> Bool { exchange(&isInDoubt, with: false) }
}
