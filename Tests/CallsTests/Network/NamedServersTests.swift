import HTTP
import ICE
import Peers
import Synchronization
import TestSupport
import Testing

@testable import Calls

/// Servers that a media server names, of which nobody is there.
@Suite struct NamedServersTests {
    private final class Log: Sendable {
        let told = Mutex<[String]>([])
        let found = Mutex<[[ICEServer]]>([])
    }

    @Test func serversThatDoNotWorkAreTold() throws {
        let address = Relay.loopbackAddress()
        let links = [
            "<stun:\(address):9>; rel=\"ice-server\"",
            "<turn:\(address):9?transport=udp>; rel=\"ice-server\"; username=\"u\"; credential=\"p\"",
            "<turns:\(address):9?transport=tcp>; rel=\"ice-server\"; username=\"u\"; credential=\"p\"",
        ]
        let (named, flaws) = NamedICEServer.servers(in: LinkHeader.links(in: links))
        #expect(named.count == 3 && flaws.isEmpty)
        let (log, call) = (Log(), "whip+https://w")
        let servers = NamedServers(
            try TLSTrust(alsoTrusting: .none, toSpeak: .turn),
            beside: ICEAgent.Configuration(addresses: ["127.0.0.1"])
        ) { event in
            if case .server(let news) = event { log.told.withLock { $0.append(news.sentence) } }
        }
        defer { servers.close() }
        servers.find(named, for: call) { found in log.found.withLock { $0.append(found) } }
        let silence =
            "which \(call) names, does not answer: check whether a firewall lets UDP pass, or tell the media server's operator"
        let sentences = [
            "the STUN server stun:\(address):9, \(silence)",
            "the TURN server turn:\(address):9, \(silence)",
        ]
        try wait(until: "all are told of: \(log.told.withLock(\.self))") { log.told.withLock(\.count) == 3 }
        let told = log.told.withLock { $0.sorted() }
        let obstacle = "the relay \(address), which \(call) names, cannot be used: cannot reach turns:\(address):9"
        #expect(told.filter { !$0.hasPrefix(obstacle) } == sentences)
        #expect(log.found.withLock { $0.map(\.count) } == [3])
        #expect(servers.faults(of: [call]).map(\.sentence).sorted() == told)
        #expect(servers.faults(of: ["another"]).isEmpty)
        // The next session names one of them: what is known of it stays, and of the others it is gone.
        servers.find([named[1]], for: call) { found in log.found.withLock { $0.append(found) } }
        try wait(until: "it is probed") { servers.faults(of: [call]).map(\.sentence) == [sentences[1]] }
        #expect(log.found.withLock { $0.map(\.count) } == [3, 1])
    }
}
