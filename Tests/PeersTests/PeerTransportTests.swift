import Glibc
import Posix
import RTP
import TestSupport
import Testing
import Time
import WebRTC

@testable import Peers

/// Two transports on one loop, of which one has coturn in between.
@Suite struct PeerTransportTests {
    /// Its login lasts for two seconds: another relayed address takes the place of the first one in time.
    @Test(arguments: [true, false]) func aRelayIsToldAnew(isControlling: Bool) throws {
        let port = try UDPSocket(family: AF_INET).localAddress().port
        let relay = try Relay(
            at: "127.0.0.1",
            secret: "north",
            ["--allow-loopback-peers", "--listening-port", "\(port)"]
        )
        defer { withExtendedLifetime(relay) {} }

        let loop = ICELoop()
        let identity = try DTLSIdentity()
        func transport(_ configuration: ICEAgent.Configuration, isControlling: Bool) throws -> PeerTransport {
            try #require(
                PeerTransport(
                    in: loop,
                    configuration,
                    isControlling: isControlling,
                    identity: identity,
                    addresses: ["127.0.0.1"],
                    now: MonotonicClock.now()
                )
            )
        }
        let login = TURNCredentials.secret("north", lifetime: .seconds(2))
        let relayed = try transport(
            ICEAgent.Configuration(
                servers: [.turn(address: "127.0.0.1", port: port, .udp, login)],
                addresses: ["127.0.0.1"],
                isRelayOnly: true
            ),
            isControlling: isControlling
        )
        let plain = try transport(ICEAgent.Configuration(addresses: ["127.0.0.1"]), isControlling: !isControlling)

        func run(
            until what: String,
            _ condition: (_ relayed: [PeerTransport.Event], _ plain: [PeerTransport.Event]) -> Bool
        ) throws {
            try wait(until: what) {
                let now: Instant = MonotonicClock.now()
                loop.run(until: now + .milliseconds(20))
                return condition(relayed.takeEvents(at: now), plain.takeEvents(at: now))
            }
        }
        var gathered = (false, false)
        try run(until: "both have gathered") { _, _ in
            let now: Instant = MonotonicClock.now()
            gathered.0 = gathered.0 || relayed.takeGathered(at: now)
            gathered.1 = gathered.1 || plain.takeGathered(at: now)
            return gathered == (true, true)
        }
        let (near, far) = (try #require(relayed.local), try #require(plain.local))
        #expect(near.candidates.map(\.kind) == [.relayed])
        relayed.setRemote(far.credentials)
        relayed.addRemote(far.candidates)
        plain.setRemote(near.credentials)
        plain.addRemote(near.candidates)
        var connected = (false, false)
        try run(until: "both are connected") { relayed, plain in
            connected.0 = connected.0 || relayed.contains { if case .connected = $0 { true } else { false } }
            connected.1 = connected.1 || plain.contains { if case .connected = $0 { true } else { false } }
            return connected == (true, true)
        }
        let first = try #require(relayed.path?.local)
        try run(until: "the path has moved") { relayed, _ in
            relayed.contains { if case .moved = $0 { true } else { false } }
        }
        let second = try #require(relayed.path?.local)
        #expect(second.kind == .relayed && second.port != first.port)
        var batch = DatagramBatch()
        batch.append([128, 1, 2, 3])
        try run(until: "a datagram comes by the new path") { _, plain in
            _ = relayed.send(batch)
            return plain.contains { if case .datagram([128, 1, 2, 3]) = $0 { true } else { false } }
        }
    }
}
