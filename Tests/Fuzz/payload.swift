import Media
import RTP
import Time

/// Packets of RTP that were opened, as a receiver takes them. The input's first byte chooses the codec of video; each packet follows its
/// length in two bytes. The lowest bit of a length's first byte says that time passes before.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    var random = SplitMix64(seed: 1)
    var extensions = HeaderExtensions.empty
    (extensions.mid, extensions.transportNumber, extensions.soundLevel) = (1, 2, 3)
    var video = IncomingBundle.Description(mid: "0", extensions: extensions)
    video.codecs = [96: .video(VideoCodec.allCases[Int(input[0]) % VideoCodec.allCases.count]), 98: .video(.vp8)]
    video.retransmissions = [97: 96]
    var sound = IncomingBundle.Description(mid: "1", extensions: extensions)
    sound.codecs = [111: .opus]
    var receiver = IncomingBundle([video, sound], using: &random)
    var now = Instant(nanoseconds: 1 << 40)
    var place = 1
    while place + 2 <= count {
        let length = min(Int(input[place] & 0x0E) << 7 | Int(input[place + 1]), count - place - 2)
        if input[place] & 1 != 0 { now += .milliseconds(40) }
        place += 2
        receiver.receive(Array(input[place..<place + length]), now: now)
        for frame in receiver.takeFrames() { precondition(!frame.bytes.isEmpty) }
        for packet in receiver.takeSound() { precondition(!packet.bytes.isEmpty && packet.level ?? 0 < 128) }
        var feedback: [UInt8] = []
        var rounds = 0
        while receiver.writeFeedback(as: 1, named: "n", roundTripTime: nil, at: now, to: &feedback) {
            precondition(feedback.count <= 1150)
            precondition((try? RTCPPacket.parse(feedback)) != nil)
            feedback.removeAll()
            rounds += 1
            precondition(rounds < 1000)
        }
        if let deadline = receiver.nextDeadline { precondition(deadline > now) }
        place += length
    }
    return 0
}
