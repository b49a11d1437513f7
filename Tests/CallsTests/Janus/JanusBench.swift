import JSON
import Media
import TestSupport
import Time

@testable import Calls

/// A session, and what it asks of the world.
struct JanusBench {
    static let session = 6_864_117_012_676_075
    static let handle = 6_143_150_944_868_170
    static let answer =
        "v=0\r\no=- 1 1 IN IP4 0.0.0.0\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\na=recvonly\r\n"

    static let offer =
        "v=0\r\no=- 7 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\nm=video 9 UDP/TLS/RTP/SAVPF 96\r\nc=IN IP4 0.0.0.0\r\na=mid:0\r\n"
        + "a=ice-ufrag:aaaa\r\na=ice-pwd:aaaaaaaaaaaaaaaaaaaaaa\r\na=fingerprint:sha-256 AB\r\na=sendonly\r\n"
        + "a=candidate:1 1 udp 2015363327 10.99.0.1 40000 typ host\r\na=end-of-candidates\r\n"

    var session: JanusSession
    var now = Instant.seconds(1000)
    /// The last request, and all so far.
    var request: JSONText? { requests.last }
    var requests: [JSONText] = []

    init(room: String = "1234", _ secrets: JanusSecrets = JanusSecrets()) {
        session = JanusSession(server: "ws://janus.example.com:8188", room: room, secrets, codecs: [.vp8, .vp9])
    }

    /// What it wants but to be sent something.
    mutating func perform(_ body: (inout JanusSession, Instant) -> Void) -> [JanusSession.Output] {
        body(&session, now)
        return session.takeOutputs().filter { output in
            guard case .send(let text) = output else { return true }
            requests.append(JSONText(text.utf8)!)
            return false
        }
    }

    mutating func receive(_ text: String) -> [JanusSession.Output] {
        perform { $0.received(Array(text.utf8), now: $1) }
    }

    /// Answers the last request.
    mutating func answer(_ members: String) -> [JanusSession.Output] {
        receive("{\"transaction\":\(request!["transaction"]!.text),\(members)}")
    }

    /// Answers the last request with an event of the VideoRoom.
    mutating func event(_ data: String, jsep: String = "") -> [JanusSession.Output] {
        answer(
            "\"janus\":\"event\",\"session_id\":\(Self.session),\"sender\":\(Self.handle),\"plugindata\":{\"plugin\":\"janus.plugin.videoroom\",\"data\":{\(data)}}\(jsep)"
        )
    }

    mutating func joined(type: String = "answer", sdp: String = Self.answer) -> [JanusSession.Output] {
        event(
            "\"videoroom\":\"joined\",\"room\":1234,\"id\":7,\"publishers\":[]",
            jsep: ",\"jsep\":{\"type\":\"\(type)\",\"sdp\":\(JSONText(string: sdp).text)}"
        )
    }

    /// Waits until its deadline.
    mutating func sleep() -> [JanusSession.Output] {
        now = session.nextDeadline ?? now
        return perform { $0.tick(now: $1) }
    }

    /// Up to the request to join.
    mutating func join() {
        _ = perform { session, _ in session.start() }
        _ = perform { $0.opened(now: $1) }
        _ = answer("\"janus\":\"success\",\"data\":{\"id\":\(Self.session)}")
        _ = answer("\"janus\":\"success\",\"session_id\":\(Self.session),\"data\":{\"id\":\(Self.handle)}")
        _ = perform { $0.described(Self.offer, now: $1) }
    }

    static func published(room: String = "1234") -> JanusBench {
        var bench = JanusBench(room: room)
        bench.join()
        _ = bench.joined()
        _ = bench.perform { session, _ in session.connected() }
        return bench
    }
}

/// What the last request asks for.
func verb(_ bench: JanusBench) -> String { bench.request?["janus"]?.string ?? "" }

func ending(_ outputs: [JanusSession.Output]) -> CallEnd? {
    if case .ended(let end)? = outputs.last { end } else { nil }
}
