import FrameBridge
import Glibc
import Posix
import Time

extension BridgePeer {
    /// Writes the sound of a broadcast, for `seconds`: a tone in each channel, or a `sweep` that begins anew each second. It is heard
    /// only during the first `on` milliseconds of each `of`.
    ///
    /// The remaining words are the tones' frequencies in Hz, or the first and the last of the sweep. Says when it has begun.
    static func sing(in directory: BridgeDirectory, _ options: Options) throws {
        let frequencies = options.rest.compactMap { Double($0) }
        let isSweep = options.rest.first == "sweep"
        let channels = isSweep ? 1 : frequencies.count
        let (on, of) = (options["on", default: 1000], options["of", default: 1000])
        var writer = try SoundWriter(in: directory)
        var samples = [Int16](repeating: 0, count: SoundBlock.samples * channels)
        let start = now()
        say("begun=\(start.nanoseconds)")
        var follows = false
        var block: UInt64 = 0
        while now() < options.end {
            let capturedAt = start + SoundBlock.duration * Int(block)
            // A block is there when it is over.
            MonotonicClock.sleep(until: capturedAt + SoundBlock.duration)
            writer.heartbeat()
            if block * 10 % of < on {
                let first = block * UInt64(SoundBlock.samples)
                for index in 0..<SoundBlock.samples {
                    let time = Double(first + UInt64(index)) / Double(SoundBlock.sampleRate)
                    for channel in 0..<channels {
                        let phase: Double
                        if isSweep {
                            let part = time.truncatingRemainder(dividingBy: 1)
                            phase = frequencies[0] * part + (frequencies[1] - frequencies[0]) * part * part / 2
                        } else {
                            phase = frequencies[channel] * time
                        }
                        samples[index * channels + channel] = Int16(8192 * sin(2 * .pi * phase))
                    }
                }
                try writer.write(samples.span, channels: channels, capturedAt: capturedAt, follows: follows)
                follows = true
            } else {
                follows = false
            }
            block += 1
        }
    }
}
