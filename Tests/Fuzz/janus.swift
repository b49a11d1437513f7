import Calls
import JSON
import Media
import Time

/// What a server says by Janus's API, to a session that does what it asks for. Messages are parted by a zero byte; T in them stands
/// for the last request. A message of one byte is something else that happens.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let bytes = Array(UnsafeBufferPointer(start: start, count: count))
    var now = Instant(nanoseconds: 1 << 40)
    var session = JanusSession(server: "ws://s", room: "1", JanusSecrets(pin: "p"), codecs: [.vp8])
    var (transaction, ends) = ([UInt8](), 0)
    func perform(_ body: (inout JanusSession) -> Void) {
        body(&session)
        for output in session.takeOutputs() {
            precondition(ends == 0)
            switch output {
            case .send(let text): transaction = Array((JSONText(text.utf8)!["transaction"]!.string!).utf8)
            case .ended: ends += 1
            default: break
            }
        }
    }
    perform { $0.start() }
    for piece in bytes.split(separator: 0) {
        switch (piece.count, piece.first) {
        case (1, UInt8(ascii: "o")): perform { $0.opened(now: now) }
        case (1, UInt8(ascii: "d")): perform { $0.described("v=0\r\nm=video 9 x 96\r\na=mid:0\r\n", now: now) }
        case (1, UInt8(ascii: "c")): perform { $0.connected() }
        case (1, UInt8(ascii: "l")): perform { $0.lost("lost", now: now) }
        case (1, UInt8(ascii: "p")): perform { $0.peerEnded("has gone", isFinal: false, now: now) }
        case (1, UInt8(ascii: "m")): perform { $0.migrating() }
        case (1, UInt8(ascii: "n")): perform { $0.networkChanged() }
        case (1, UInt8(ascii: "g")):
            let credentials = "a=ice-ufrag:abcd\r\na=ice-pwd:0123456789012345678901\r\n"
            perform { $0.proposed(credentials, now: now) }
        case (1, UInt8(ascii: "t")):
            now = session.nextDeadline ?? now
            perform { $0.tick(now: now) }
        default:
            let message = piece.split(separator: UInt8(ascii: "T"), omittingEmptySubsequences: false)
            perform { $0.received(Array(message.joined(separator: transaction)), now: now) }
        }
    }
    perform { $0.leave(now: now) }
    while let deadline = session.nextDeadline {
        now = deadline
        perform { $0.tick(now: now) }
    }
    precondition(ends == 1)
    return 0
}
