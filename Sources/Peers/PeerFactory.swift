import ICE
import Media
import Posix
import RTP
import Time
import WebRTC

/// Makes the parts of peers, and their numbers.
struct PeerFactory {
    let identity: DTLSIdentity
    let loop: ICELoop
    let network: LocalNetwork
    let silent = SilentServers()
    private let ice: ICEAgent.Configuration
    private let clock = ClockReading(monotonic: MonotonicClock.now(), wall: MonotonicClock.wallClock())
    var random = SystemRandomNumberGenerator()
    private var lastNumber: Int

    init(_ configuration: PeerGroup.Configuration, identity: DTLSIdentity, loop: ICELoop, suspends: SuspendWatch?) {
        (self.identity, self.loop, ice) = (identity, loop, configuration.ice)
        network = LocalNetwork(in: loop, suspends)
        lastNumber = configuration.firstNumber - 1
    }

    mutating func nextID() -> ParticipantID {
        lastNumber += 1
        return ParticipantID(lastNumber)
    }

    /// - Parameter servers: of STUN and TURN, beside those of all peers.
    /// - Returns: nil if no UDP port is free, or the machine has no address.
    func transport(
        isControlling: Bool,
        trickles: Bool = false,
        _ servers: [ICEServer] = [],
        at now: Instant
    ) -> PeerTransport? {
        var ice = ice
        ice.servers += servers
        let agents = PeerTransport.Agents(loop: loop, configuration: ice, isControlling: isControlling, silent: silent)
        return PeerTransport(agents, identity: identity, trickles: trickles, addresses: network.addresses, now: now)
    }

    mutating func bundle(
        _ sources: [(parameters: OutgoingStream.Parameters, history: PacketHistory)],
        _ pace: Pacer.Pace,
        for audience: Audience
    ) -> StreamBundle {
        StreamBundle(sources, pace: pace, audience: audience, opensSpeakers: true, clock: clock, using: &random)
    }
}
