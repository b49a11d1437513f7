import COpus
import SoundCoding
import TestSupport

/// libopus's decoder, as the judge.
final class LibopusDecoder {
    let channels: Int
    private let decoder: OpaquePointer

    init(channels: Int) {
        self.channels = channels
        decoder = opus_decoder_create(48_000, Int32(channels), nil)
    }

    deinit { opus_decoder_destroy(decoder) }

    /// The samples of a packet; nil is for one that is lost, and is concealed.
    func decode(_ packet: [UInt8]?) -> [Int16] { decode(packet, isRepetition: false) }

    /// The samples of the packet before this one, which is lost, as this one repeats them.
    func repetition(in packet: [UInt8]) -> [Int16] { decode(packet, isRepetition: true) }

    private func decode(_ packet: [UInt8]?, isRepetition: Bool) -> [Int16] {
        var samples = [Int16](repeating: 0, count: 960 * channels)
        let (bytes, size) = (packet ?? [], Int32(packet?.count ?? 0))
        let count = bytes.withUnsafeBufferPointer { bytes in
            opus_decode(decoder, size == 0 ? nil : bytes.baseAddress, size, &samples, 960, isRepetition ? 1 : 0)
        }
        return count == 960 ? samples : []
    }
}

extension OpusEncoder {
    /// The packets of a sound, whose last part is left out if it is shorter than a packet.
    mutating func packets(of clip: SoundClip) throws -> [[UInt8]] {
        let size = 960 * channels
        return try (0..<clip.samples.count / size).map { index in
            try encode(Array(clip.samples[index * size..<(index + 1) * size]).span) { packet in
                packet.withUnsafeBufferPointer { Array($0) }
            }
        }
    }
}

extension SoundClip {
    /// Two of one channel side by side.
    static func stereo(_ left: SoundClip, _ right: SoundClip) -> SoundClip {
        SoundClip(samples: zip(left.samples, right.samples).flatMap { [$0, $1] }, channels: 2)
    }

    /// White noise.
    static func noise(lasting seconds: Double, level: Double, channels: Int, seed: UInt64) -> SoundClip {
        var random = SplitMix(seed: seed)
        let samples = (0..<Int(seconds * 48_000) * channels).map { _ in
            Int16(level * 32767 * Double.random(in: -1...1, using: &random))
        }
        return SoundClip(samples: samples, channels: channels)
    }
}
