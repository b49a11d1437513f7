import Posix
import Testing

@testable import WebRTC

enum Identities {
    static let here = try! DTLSIdentity()
    static let there = try! DTLSIdentity()
}

/// Both ends of an association, and the line between them.
final class DTLSPair {
    let client: DTLSConnection
    let server: DTLSConnection
    /// Datagrams that were sent so far.
    private(set) var count = 0
    /// What becomes of the client's datagrams on their way.
    var relay: ([UInt8]) -> [[UInt8]] = { [$0] }

    init(clientExpects: Fingerprint? = nil, serverExpects: Fingerprint? = nil) throws {
        client = try DTLSConnection(
            .client,
            identity: Identities.here,
            expected: [clientExpects ?? Identities.there.fingerprint]
        )
        server = try DTLSConnection(
            .server,
            identity: Identities.there,
            expected: [serverExpects ?? Identities.here.fingerprint]
        )
    }

    /// Carries datagrams both ways until none is left, but for the one of a number.
    func exchange(losing lost: Int? = nil) {
        while true {
            let up = client.takeDatagrams()
            let down = server.takeDatagrams()
            if up.isEmpty, down.isEmpty { return }
            for datagram in up {
                if count != lost { for part in relay(datagram) { part.withUnsafeBytes { server.receive($0) } } }
                count += 1
            }
            for datagram in down {
                if count != lost { datagram.withUnsafeBytes { client.receive($0) } }
                count += 1
            }
        }
    }

    /// Lets the flights that wait for an answer be sent again, as often as it takes.
    func settle() {
        for _ in 0..<10 where client.keys == nil || server.keys == nil {
            guard let timeout = [client.timeout, server.timeout].compactMap({ $0 }).min() else { return }
            MonotonicClock.sleep(for: timeout)
            client.handleTimeout()
            server.handleTimeout()
            exchange()
        }
    }
}

extension DTLSConnection {
    var keys: SRTPKeys? { if case .established(let keys) = state { keys } else { nil } }
    var failure: DTLSError? { if case .failed(let error) = state { error } else { nil } }
    var isClosed: Bool { if case .closed = state { true } else { false } }
}
