import Media
import RTP
import Time
import WebRTC

/// An answer to an offer of video and sound: what is taken was offered, and a session can be made of it.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    guard let answer = try? SessionDescription(parsing: text), let agreement = try? offer.agreement(in: answer) else {
        return 0
    }
    precondition(!agreement.streams.isEmpty && !agreement.remote.fingerprints.isEmpty)
    for stream in agreement.streams {
        precondition(offer.streams.contains { $0.mid == stream.mid && $0.track == stream.track })
    }
    var random = SplitMix64(seed: 1)
    let video = PacketHistory(codec: .vp8, maximumPayloadSize: 100, capacity: 4, using: &random)
    let sound = PacketHistory(soundOf: 100, capacity: 4)
    var bundle = StreamBundle(
        offer.streams.map { ($0.formats[0].parameters, $0.formats[0].codec == .opus ? sound : video) },
        pace: .video(targetBitrate: 1_000_000),
        clock: ClockReading(monotonic: .start, wall: 0),
        using: &random
    )
    bundle.keep(agreement.streams.map { ($0.formats[0].parameters, $0.formats[0].codec == .opus ? sound : video) })
    video.append(frame: [1, 2, 3], isKeyframe: true, dimensions: (8, 8), capturedAt: .start, now: .start)
    sound.append(sound: [1, 2, 3], capturedAt: .start, now: .start)
    var bytes: [UInt8] = []
    while bundle.writeNext(at: .start, to: &bytes) {}
    precondition(bytes.count >= agreement.streams.count * 15)
    return 0
}

private let offer = SessionOffer([
    LocalStream(track: "screen", codecs: [[.video(.vp8), .video(.vp9), .video(.av1)]]),
    LocalStream(track: "camera", codecs: [[.video(.vp8)]]), LocalStream(track: "sound", codecs: [[.opus]]),
])
