import ArgumentParser
import Calls
import Pixels
import RTP
import Sender
import VideoEncoding

/// How the stream is encoded.
struct VideoOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp("Size of the stream's picture, even; other shapes get black bars.", valueName: "WxH"),
        transform: parseSize
    )
    var size = PixelSize(width: 1280, height: 720)

    @Option(help: "Frames a second at the most, 1 to 60.")
    var fps = 30

    @Option(help: "Codec: auto, vp8 or vp9. auto takes vp8, which every receiver knows.")
    var codec = CodecChoice.auto

    @Option(
        help: ArgumentHelp("Bits a second, such as 800k or 2.5M.", valueName: "rate"),
        transform: { try Bitrate(parsing: $0) }
    )
    var bitrate = Bitrate(bitsPerSecond: 2_500_000)

    @Option(
        help: ArgumentHelp(
            "Seconds between keyframes, for receivers that cannot ask for one; 0 for none but those asked for.",
            valueName: "seconds"
        )
    )
    var keyframeInterval = 5.0

    func validate() throws {
        guard 1...60 ~= fps else { throw ValidationError("--fps \(fps) is out of range: give 1 to 60.") }
        guard 0...3600 ~= keyframeInterval else {
            throw ValidationError("--keyframe-interval \(keyframeInterval) is out of range: give 0 to 3600.")
        }
    }

    var summary: String { "\(size) \(codec.codec) at \(bitrate)" }

    var rtp: PlainRTPSession.Configuration {
        PlainRTPSession.Configuration(
            codec: codec.codec == .vp9 ? .vp9 : .vp8,
            targetBitrate: UInt64(bitrate.bitsPerSecond)
        )
    }

    func settings(wakesEarly: Bool) -> SenderSettings {
        SenderSettings(
            size: size,
            codec: codec.codec,
            bitrate: bitrate.bitsPerSecond,
            framesPerSecond: fps,
            wakesEarly: wakesEarly,
            keyframeInterval: keyframeInterval == 0 ? nil : UInt64(keyframeInterval * 1_000_000_000)
        )
    }
}

enum CodecChoice: String, ExpressibleByArgument, CaseIterable {
    case auto, vp8, vp9

    var codec: VideoEncoding.VideoCodec { self == .vp9 ? .vp9 : .vp8 }
}

/// Bits a second, written with an optional `k` or `M`.
struct Bitrate: CustomStringConvertible {
    private static let range = 30_000...100_000_000

    let bitsPerSecond: Int

    init(bitsPerSecond: Int) { self.bitsPerSecond = bitsPerSecond }

    init(parsing text: String) throws(ValidationError) {
        let units: [Character: Double] = ["k": 1000, "K": 1000, "m": 1_000_000, "M": 1_000_000]
        let unit = text.last.flatMap { units[$0] }
        guard let number = Double(unit == nil ? text : String(text.dropLast())), number.isFinite,
            let bits = Int(exactly: (number * (unit ?? 1)).rounded()), Self.range ~= bits
        else { throw ValidationError("give a rate from 30k to 100M, such as 2500k") }
        bitsPerSecond = bits
    }

    var description: String { "\(bitsPerSecond / 1000)k" }
}

/// Even sizes from 32x32 to 4096x4096, as `1280x720`.
private func parseSize(_ text: String) throws(ValidationError) -> PixelSize {
    let sides = text.split(separator: "x", omittingEmptySubsequences: false).map { Int($0) }
    guard sides.count == 2, let width = sides[0], let height = sides[1], 32...4096 ~= width, 32...4096 ~= height,
        width.isMultiple(of: 2), height.isMultiple(of: 2)
    else { throw ValidationError("give two even numbers from 32 to 4096, such as 1280x720") }
    return PixelSize(width: width, height: height)
}
