import Calls
import Configuration
import Credentials
import HTTP
import ICE
import Posix

extension WebCallSettings {
    /// The STUN and TURN servers by their addresses. Looking up names may take seconds.
    func ice(_ secret: TURNSecret?) throws -> ICEServers {
        var configuration = ICEAgent.Configuration(ports: ports, isRelayOnly: relayOnly)
        let local = localAddresses()
        if let host = server.listen.host, let named = local.first(where: { $0.host == host }) {
            configuration.addresses = [named.host]
        } else if local.isEmpty {
            configuration.addresses = ["127.0.0.1"]
        }
        return try iceServers.servers(configuration, secret)
    }
}

extension ICEServerSettings {
    /// The servers as this machine uses them. Looking up names may take seconds.
    func servers(_ configuration: ICEAgent.Configuration, _ secret: TURNSecret?) throws -> ICEServers {
        var servers = ICEServers(configuration)
        if let stun { try servers.addSTUN(stun.spelling, host: stun.host, port: stun.port) }
        for turn in turn {
            let credentials = try turn.credentials(secret)
            try servers.addTURN("\(turn)", host: turn.host, port: turn.port, turn.transport, credentials)
        }
        return servers
    }
}
