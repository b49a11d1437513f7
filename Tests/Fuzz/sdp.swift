import Media
import RTP
import Time
import WebRTC

/// An offer, and the answer to it: what is printed must read back the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let offer = try? SessionDescription(parsing: text) else { return 0 }
    precondition(try! SessionDescription(parsing: "\(offer)") == offer)
    for codecs in [[[VideoCodec.vp8, .vp9], [.av1]], [[.vp9]]] {
        guard let negotiation = try? Negotiation(offer: offer, codecs: codecs) else { continue }
        var random = SplitMix64(seed: 1)
        let history = PacketHistory(codec: .vp8, maximumPayloadSize: 100, capacity: 1, using: &random)
        let streams = StreamBundle(
            [(negotiation.agreement.streams[0].formats[0].parameters, history)],
            pace: .video(targetBitrate: 1_000_000),
            clock: ClockReading(monotonic: .start, wall: 0),
            using: &random
        )
        let local = TransportParameters(
            credentials: ICECredentials(fragment: "abcd", password: "0123456789abcdefghijkl")!,
            fingerprints: [Fingerprint(.sha256, [UInt8](repeating: 1, count: 32))],
            candidates: []
        )
        let answer = negotiation.answer(local: local, bundle: streams, sessionID: 1)
        precondition(try! SessionDescription(parsing: "\(answer)") == answer)
        precondition(answer.media.count == offer.media.count)
        // The one with the stream, and the one that tells the transport if that is another.
        precondition(answer.media.count { $0.attributes.contains(.init("sendonly")) } == 1)
        precondition(1...2 ~= answer.media.count { $0.port != 0 })
    }
    return 0
}
