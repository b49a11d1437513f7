import Glibc

/// What tests measure in sound. Samples are parts of full scale, in one channel.
package enum SoundAnalysis {
    /// Where something was found in a recording.
    package struct Finding: Sendable {
        /// The sample at which it begins.
        package let delay: Int
        /// How much the recording is like it there, whatever its loudness: 1 for the same, about 0 for anything else.
        package let correlation: Double
    }

    /// Finds where a sound lies in a recording, by cross-correlation.
    ///
    /// - Returns: where the recording is most like it; nil if the recording is shorter, or silent.
    package static func find(_ sound: [Float], in recording: [Float]) -> Finding? {
        guard !sound.isEmpty, recording.count >= sound.count else { return nil }
        var size = 1
        while size < recording.count + sound.count { size *= 2 }
        var (whole, part) = (Spectrum(recording, size: size), Spectrum(sound, size: size))
        whole.transform()
        part.transform()
        whole.multiply(byConjugateOf: part)
        whole.transform(isInverse: true)
        // What lies beneath the sound at each place, for the norm.
        var squares = [0.0]
        squares.reserveCapacity(recording.count + 1)
        for sample in recording { squares.append(squares.last! + Double(sample) * Double(sample)) }
        let norm = energy(sound)
        var best: Finding?
        for delay in 0...(recording.count - sound.count) {
            let beneath = squares[delay + sound.count] - squares[delay]
            guard beneath > norm * 1e-6 else { continue }
            let correlation = Double(whole.real[delay]) / (beneath * norm).squareRoot()
            if correlation > best?.correlation ?? 0 { best = Finding(delay: delay, correlation: correlation) }
        }
        return best
    }

    /// The level of one frequency in dB, 0 for a tone of full scale (Goertzel's algorithm, with a Hann window).
    package static func level(of frequency: Double, in samples: [Float], rate: Int = 48_000) -> Double {
        guard samples.count > 1 else { return -.infinity }
        let step = 2 * Double.pi * frequency / Double(rate)
        let factor = 2 * cos(step)
        var (before, beforeThat, weight) = (0.0, 0.0, 0.0)
        for (index, sample) in samples.enumerated() {
            let window = 0.5 - 0.5 * cos(2 * .pi * Double(index) / Double(samples.count - 1))
            weight += window
            (before, beforeThat) = (Double(sample) * window + factor * before - beforeThat, before)
        }
        let power = before * before + beforeThat * beforeThat - factor * before * beforeThat
        return 10 * log10(max(power, 1e-30) * 4 / (weight * weight))
    }

    /// The level of all frequencies in dB, 0 for a tone of full scale.
    package static func level(in samples: [Float]) -> Double {
        guard !samples.isEmpty else { return -.infinity }
        return 10 * log10(max(energy(samples) / Double(samples.count), 1e-30) * 2)
    }

    /// How much louder a sound is than what it lost on its way and what came to it, in dB.
    ///
    /// - Parameters:
    ///   - recording: begins where the sound does, and may be of another loudness.
    package static func signalToNoise(of sound: [Float], in recording: [Float]) -> Double {
        let count = min(sound.count, recording.count)
        var (product, power) = (0.0, 0.0)
        for index in 0..<count {
            product += Double(sound[index]) * Double(recording[index])
            power += Double(sound[index]) * Double(sound[index])
        }
        let gain = product / max(power, 1e-30)
        var noise = 0.0
        for index in 0..<count {
            let difference = Double(recording[index]) - gain * Double(sound[index])
            noise += difference * difference
        }
        return 10 * log10(gain * gain * power / max(noise, 1e-30))
    }

    /// The largest step from one sample to the next, beyond what the tone itself does: a click. 2 is the largest there is.
    ///
    /// - Parameters:
    ///   - frequency: the highest in the sound.
    ///   - level: of its amplitude.
    package static func largestClick(in samples: [Float], frequency: Double, level: Double, rate: Int = 48_000)
        -> Double
    {
        let step = level * 2 * .pi * frequency / Double(rate)
        return zip(samples, samples.dropFirst()).reduce(0) { max($0, Double(abs($1.1 - $1.0)) - step) }
    }

    private static func energy(_ samples: [Float]) -> Double {
        samples.reduce(0) { $0 + Double($1) * Double($1) }
    }
}

/// A spectrum by the fast Fourier transform of Cooley and Tukey.
private struct Spectrum {
    var real: [Float]
    var imaginary: [Float]

    /// - Parameter size: a power of two.
    init(_ samples: [Float], size: Int) {
        real = samples + [Float](repeating: 0, count: size - samples.count)
        imaginary = [Float](repeating: 0, count: size)
    }

    mutating func transform(isInverse: Bool = false) {
        let size = real.count
        real.withUnsafeMutableBufferPointer { real in
            imaginary.withUnsafeMutableBufferPointer { imaginary in
                var reversed = 0
                for index in 1..<size {
                    var bit = size >> 1
                    while reversed & bit != 0 {
                        reversed ^= bit
                        bit >>= 1
                    }
                    reversed ^= bit
                    if index < reversed {
                        real.swapAt(index, reversed)
                        imaginary.swapAt(index, reversed)
                    }
                }
                var length = 2
                while length <= size {
                    let half = length / 2
                    let angle = (isInverse ? 2 : -2) * Double.pi / Double(length)
                    for offset in 0..<half {
                        let (cosine, sine) = (Float(cos(angle * Double(offset))), Float(sin(angle * Double(offset))))
                        var first = offset
                        while first < size {
                            let second = first + half
                            let a = real[second] * cosine - imaginary[second] * sine
                            let b = real[second] * sine + imaginary[second] * cosine
                            (real[second], imaginary[second]) = (real[first] - a, imaginary[first] - b)
                            real[first] += a
                            imaginary[first] += b
                            first += length
                        }
                    }
                    length *= 2
                }
                if isInverse { for index in 0..<size { real[index] /= Float(size) } }
            }
        }
    }

    mutating func multiply(byConjugateOf other: Spectrum) {
        for index in real.indices {
            let (a, b, c, d) = (real[index], imaginary[index], other.real[index], other.imaginary[index])
            (real[index], imaginary[index]) = (a * c + b * d, b * c - a * d)
        }
    }
}
