import Glibc
import ICE
import Posix
import RTP
import TestSupport
import Testing
import Time
import WebRTC

@testable import Peers

/// Two transports on one loop, of which one has coturn in between.
@Suite struct PeerTransportTests {
    /// The relay, and what is on one loop.
    private final class Scene {
        let loop = ICELoop()
        let identity: DTLSIdentity
        let address = Relay.loopbackAddress()
        private let relay: Relay
        /// How far the transports' clock is ahead of the machine's, by which the loop and coturn run.
        var lead = Duration.zero

        /// - Parameter secret: of which logins are made; nil for the one that `Relay` knows.
        init(secret: String? = nil) throws {
            identity = try DTLSIdentity()
            relay = try Relay(at: address, secret: secret, ["--allow-loopback-peers"])
        }

        var now: Instant { MonotonicClock.now() + lead }

        func transport(
            _ configuration: ICEAgent.Configuration,
            isControlling: Bool,
            trickles: Bool = false,
            without silent: SilentServers = SilentServers()
        ) throws -> PeerTransport {
            let agents = PeerTransport.Agents(
                loop: loop,
                configuration: configuration,
                isControlling: isControlling,
                silent: silent
            )
            return try #require(
                PeerTransport(agents, identity: identity, trickles: trickles, addresses: ["127.0.0.1"], now: now)
            )
        }

        func run(
            _ one: PeerTransport,
            _ other: PeerTransport,
            until what: String,
            _ condition: (_ one: [PeerTransport.Event], _ other: [PeerTransport.Event]) -> Bool
        ) throws {
            do {
                try wait(until: what, restsBetween: false) {
                    loop.run(until: MonotonicClock.now() + .milliseconds(20))
                    let now = now
                    return condition(one.takeEvents(at: now), other.takeEvents(at: now))
                }
            } catch {
                Issue.record("the relay said: \(relay.output.suffix(2000))")
                throw error
            }
        }

        /// Until both have candidates, know those of the other one, and are connected.
        func connect(_ one: PeerTransport, _ other: PeerTransport) throws {
            var gathered = (false, false)
            // Before the time for it is up, however long the relay takes.
            let now = now
            try run(one, other, until: "both have gathered") { _, _ in
                gathered.0 = gathered.0 || one.takeGathered(at: now)
                gathered.1 = gathered.1 || other.takeGathered(at: now)
                return gathered == (true, true)
            }
            let (near, far) = (try #require(one.local), try #require(other.local))
            one.setRemote(far.credentials)
            one.addRemote(far.candidates)
            other.setRemote(near.credentials)
            other.addRemote(near.candidates)
            var connected = (false, false)
            try run(one, other, until: "both are connected") { one, other in
                connected.0 = connected.0 || one.contains { if case .connected = $0 { true } else { false } }
                connected.1 = connected.1 || other.contains { if case .connected = $0 { true } else { false } }
                return connected == (true, true)
            }
        }

        /// Until one of two that knows the other is known by it, too, and it is connected.
        func connectBack(_ one: PeerTransport, to other: PeerTransport) throws {
            let near = try #require(other.local)
            one.setRemote(near.credentials)
            one.addRemote(near.candidates)
            try run(one, other, until: "it is connected") { _, other in
                other.contains { if case .connected = $0 { true } else { false } }
            }
        }
    }

    /// Before its login is too old, another relayed address takes the place of the first one.
    @Test(arguments: [true, false]) func aRelayIsToldAnew(isControlling: Bool) throws {
        let scene = try Scene(secret: "north")
        let lifetime = Duration.seconds(3600)
        let login = TURNCredentials.secret(TURNSecret("north"), lifetime: lifetime)
        let relayed = try scene.transport(
            ICEAgent.Configuration(
                servers: [.turn(address: scene.address, port: 3478, .udp, login)],
                addresses: ["127.0.0.1"],
                isRelayOnly: true
            ),
            isControlling: isControlling
        )
        let plain = try scene.transport(
            ICEAgent.Configuration(addresses: ["127.0.0.1"]),
            isControlling: !isControlling
        )
        try scene.connect(relayed, plain)
        #expect(relayed.local?.candidates.map(\.kind) == [.relayed])
        let first = try #require(relayed.path?.local)
        scene.lead = lifetime * 0.8
        try scene.run(relayed, plain, until: "the path has moved") { relayed, _ in
            relayed.contains { if case .moved = $0 { true } else { false } }
        }
        let second = try #require(relayed.path?.local)
        #expect(second.kind == .relayed && second.port != first.port)
        var batch = DatagramBatch()
        batch.append([128, 1, 2, 3])
        try scene.run(relayed, plain, until: "a datagram comes by the new path") { _, plain in
            _ = relayed.send(batch)
            return plain.contains { if case .datagram([128, 1, 2, 3]) = $0 { true } else { false } }
        }
    }

    /// A relay that becomes known later, as by the answer to an offer: what it gives is told once more.
    @Test(arguments: [false, true]) func aRelayComesLater(isRelayOnly: Bool) throws {
        let scene = try Scene()
        let late = try scene.transport(
            ICEAgent.Configuration(addresses: ["127.0.0.1"], isRelayOnly: isRelayOnly),
            isControlling: true
        )
        let plain = try scene.transport(ICEAgent.Configuration(addresses: ["127.0.0.1"]), isControlling: false)
        let now = scene.now
        func kinds() -> [Candidate.Kind] { late.local?.candidates.map(\.kind) ?? [] }
        try scene.run(late, plain, until: "it has gathered") { _, _ in late.takeGathered(at: now) }
        #expect(kinds() == (isRelayOnly ? [] : [.host]))
        #expect(!late.takeGathered(at: now))
        let login = TURNCredentials.password(username: "u", password: "p")
        let relay = ICEServer.turn(address: scene.address, port: 3478, .udp, login)
        late.add([relay, .stun(address: "127.0.0.1", port: 1)], at: now)
        try scene.run(late, plain, until: "the relay has answered") { _, _ in kinds().contains(.relayed) }
        // The other server never answers: the time for that is up.
        #expect(late.takeGathered(at: now + .seconds(3)))
        #expect(kinds() == (isRelayOnly ? [.relayed] : [.host, .relayed]))
        // It is there.
        late.add([relay], at: now)
        #expect(!late.takeGathered(at: now))
        let far = try #require(plain.local)
        late.setRemote(far.credentials)
        late.addRemote(far.candidates)
        try scene.connectBack(plain, to: late)
        #expect(late.path?.local.kind == (isRelayOnly ? .relayed : .host))
    }

    /// Where a server is silent: whoever takes candidates later is told of those that there are at once, and others wait for their time.
    @Test func nobodyWhoTricklesWaitsForASilentServer() throws {
        let scene = try Scene()
        let nobody = try UDPSocket(family: AF_INET)
        let configuration = ICEAgent.Configuration(
            servers: [.stun(address: "127.0.0.1", port: try nobody.localAddress().port)],
            addresses: ["127.0.0.1"]
        )
        let silent = SilentServers()
        let now: Instant = MonotonicClock.now()
        let waiting = try scene.transport(configuration, isControlling: false, without: silent)
        let trickling = try scene.transport(configuration, isControlling: false, trickles: true, without: silent)
        #expect(!waiting.takeGathered(at: now) && trickling.takeGathered(at: now))
        let first = try #require(trickling.local)
        #expect(first.candidates.map(\.kind) == [.host] && first.isTrickling)
        #expect(trickling.takeFurther(at: now) == nil && trickling.gatheringEnd != nil && !silent.takeDoubt())
        let later: Instant = MonotonicClock.now() + .seconds(3)
        #expect(waiting.takeGathered(at: later) && waiting.local?.isTrickling == false)
        #expect(silent.takeDoubt() && !silent.takeDoubt())
        let last = TrickleFragment(credentials: first.credentials, candidates: [], isLast: true)
        #expect(trickling.takeFurther(at: later) == last)
        #expect(trickling.takeFurther(at: later) == nil && trickling.gatheringEnd == nil)
        // What is known to be silent is left out.
        silent.servers = configuration.servers
        _ = silent.takeDoubt()
        let next = try scene.transport(configuration, isControlling: false, without: silent)
        try scene.run(next, waiting, until: "it has gathered") { _, _ in next.takeGathered(at: now) }
        #expect(silent.takeDoubt(), "it may answer again")
    }

    /// What the relay gives is told as it comes.
    @Test func aRelayedCandidateIsToldLater() throws {
        let scene = try Scene()
        let login = TURNCredentials.password(username: "u", password: "p")
        let configuration = ICEAgent.Configuration(
            servers: [.turn(address: scene.address, port: Relay.port, .udp, login)],
            addresses: ["127.0.0.1"]
        )
        let one = try scene.transport(configuration, isControlling: false, trickles: true)
        let other = try scene.transport(ICEAgent.Configuration(addresses: ["127.0.0.1"]), isControlling: true)
        let now: Instant = MonotonicClock.now()
        #expect(one.takeGathered(at: now))
        #expect(one.local?.candidates.map(\.kind) == [.host])
        var found: [Candidate] = []
        try scene.run(one, other, until: "all is told") { _, _ in
            guard let further = one.takeFurther(at: now) else { return false }
            found += further.candidates
            return further.isLast
        }
        #expect(found.map(\.kind) == [.relayed])
    }

    /// Another generation takes the place of the one before once the other side has taken it, and a path stands.
    @Test func anotherGenerationIsProposed() throws {
        let scene = try Scene()
        let configuration = ICEAgent.Configuration(addresses: ["127.0.0.1"])
        let one = try scene.transport(configuration, isControlling: true)
        let other = try scene.transport(configuration, isControlling: false)
        #expect(!one.propose(from: ["127.0.0.1"], at: MonotonicClock.now()), "there is nobody yet")
        try scene.connect(one, other)
        let (before, path) = (try #require(one.local), try #require(one.path))
        func propose() throws -> TransportParameters {
            let now: Instant = MonotonicClock.now()
            #expect(one.propose(from: ["127.0.0.1"], at: now) && one.isProposing)
            #expect(!one.propose(from: ["127.0.0.1"], at: now), "one is under way")
            // Before the time for it is up.
            try scene.run(one, other, until: "it has gathered") { _, _ in one.takeGathered(at: now) }
            return try #require(one.local)
        }
        var batch = DatagramBatch()
        batch.append([128, 1, 2, 3])
        func arrives() throws {
            try scene.run(one, other, until: "a datagram comes") { _, other in
                _ = one.send(batch)
                return other.contains { if case .datagram([128, 1, 2, 3]) = $0 { true } else { false } }
            }
        }
        // It is not taken: all stays as it was.
        #expect(try propose().credentials != before.credentials)
        #expect(!one.follow(addresses: ["192.0.2.1"], at: MonotonicClock.now()))
        #expect(one.isProposing)
        one.abandonProposal()
        #expect(one.local?.credentials == before.credentials && one.path?.local == path.local && !one.isProposing)
        #expect(!one.acceptProposal(before.credentials, [], at: MonotonicClock.now()))
        try arrives()
        // It is taken.
        let proposed = try propose()
        other.restart(with: proposed.credentials)
        other.addRemote(proposed.candidates)
        let answer = try #require(other.local)
        #expect(one.acceptProposal(answer.credentials, answer.candidates, at: MonotonicClock.now()))
        // The address of the one before is there, and it does not stay for that.
        #expect(!one.follow(addresses: ["127.0.0.1"], at: MonotonicClock.now()))
        try scene.run(one, other, until: "the path has moved") { one, _ in
            one.contains { if case .moved = $0 { true } else { false } }
        }
        #expect(one.local?.credentials == proposed.credentials && one.path?.local.port != path.local.port)
        try arrives()
        // Its address is gone: the other side would go on sending there, until it is back.
        #expect(one.follow(addresses: ["192.0.2.1"], at: MonotonicClock.now()))
        #expect(!one.follow(addresses: ["127.0.0.1"], at: MonotonicClock.now()))
    }

    /// Whatever the kind of the path that is followed: of a relay behind a NAT, the local candidate is peer-reflexive.
    @Test(arguments: [.host, .serverReflexive, .peerReflexive, .relayed, nil] as [Candidate.Kind?])
    func relaysAloneStayRelaysAlone(kind: Candidate.Kind?) {
        let server = ICEServer.turn(
            address: "127.0.0.1",
            port: 3478,
            .udp,
            .password(username: "user", password: "word")
        )
        let followed = ICEAgent.Configuration(servers: [server], isRelayOnly: true).leading(from: kind)
        #expect(followed.isRelayOnly && followed.servers == [server])
        let free = ICEAgent.Configuration(servers: [server]).leading(from: kind)
        #expect(free.isRelayOnly == (kind == .relayed))
    }
}
