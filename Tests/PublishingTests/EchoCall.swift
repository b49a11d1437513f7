import Access
import Media
import Synchronization

@testable import Calls

/// A kind of call that only tests know: `echo:NAME`. Whoever is handed over as its `guest` is somebody in the call, whose path never stands.
final class EchoCall: Call {
    /// The calls that have begun, by their names.
    final class All: Sendable {
        private let calls = Mutex<[String: EchoCall]>([:])

        subscript(name: String) -> EchoCall? { calls.withLock { $0[name] } }

        fileprivate func add(_ call: EchoCall) { calls.withLock { $0[call.host.name] = call } }
    }

    static let guestKey = GuestKey(rawValue: String(repeating: "e", count: 64))

    private static let offer = """
        v=0\r\no=- 1 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n\
        m=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n\
        a=ice-ufrag:abcd\r\na=ice-pwd:0123456789abcdefghijkl\r\n\
        a=fingerprint:sha-256 \((0..<32).map { _ in "AB" }.joined(separator: ":"))\r\na=setup:actpass\r\n\
        a=recvonly\r\na=rtcp-mux\r\na=rtpmap:96 VP8/90000\r\n
        """

    private let host: CallHost
    private let peer: PeerConnection?
    private let hasEnded = Atomic(false)

    fileprivate init(guest: String?, in host: CallHost) throws {
        self.host = host
        peer = try guest.map { name in
            var other = PeerConnection.Other(place: "the wood", name: name, guest: Self.guestKey)
            other.kick = { peer, _ in
                peer.close()
                let participant = CallReport.Participant(id: peer.id, name: name)
                host.tell(.left(participant, .kicked), "\(name) was sent away")
            }
            return PeerConnection(try host.network.peers(), other, in: host) { _, _ in }
        }
        peer?.answer(Self.offer)
        host.tell(.standing(nil), "it answers")
    }

    func lose() { host.tell(.away(why: "the wind is loud", isNews: true), "the wind is loud; trying again") }

    func comeBack() { host.tell(.standing(nil), "it answers again") }

    func end(_ end: CallEnd?) {
        if hasEnded.exchange(true, ordering: .relaxed) { return }
        peer?.close()
        host.report(.ended(end))
    }

    func close() { end(nil) }
}

extension CallKind {
    static func echo(_ all: EchoCall.All) -> CallKind {
        CallKind(form: "echo:NAME") { text in
            guard text.hasPrefix("echo:") else { return nil }
            return CallPlan("echo", text) { settings in
                let guest = settings.texts["guest"]
                return { host in
                    let call = try EchoCall(guest: guest, in: host)
                    all.add(call)
                    return call
                }
            }
        }
    }
}
