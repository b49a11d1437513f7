import Glibc
import Media
import RTP
import SoundCoding
import Time

/// The voice of one peer, from packets to samples of two channels.
package final class Voice {
    package struct Statistics: Sendable, Equatable {
        /// The mean of the last tenths of a second, in decibels, 0 for a tone of full scale; nil for silence.
        package let level: Double?
        /// The share of the packets that did not come in time, and the share of concealed samples.
        package let lossRatio: Double
        package let concealedRatio: Double
        /// How long packets wait for late ones before they are played.
        package let wait: Duration
    }

    /// The limit of understanding: 50 dB below a tone of full scale, as the square of an amplitude.
    private static let faintest = 0.5 * 32768 * 32768 / 100_000
    /// The shortest time between two splices. Shorter ones would sound hurried.
    private static let spliceInterval = Duration.milliseconds(60)
    /// The least likeness of spliced samples. It does not hold if the surplus is more than 50 ms.
    private static let likeness: Float = 0.7
    private static let urgentSurplus = 2400

    private var buffer = JitterBuffer()
    private var decoder: OpusDecoder
    /// Decoded samples that are yet to be played.
    private var ahead: [Int16] = []
    private var splicedAt = Instant.start
    /// The mean power of the last tenths of a second.
    private var power = 0.0

    init() throws(OpusError) { decoder = try OpusDecoder(channels: SoundMix.channels) }

    /// A packet that no decoder can read is left out.
    func receive(_ packet: ReceivedSound) {
        if let samples = OpusDecoder.samples(of: packet.bytes) { buffer.receive(packet, samples: samples) }
    }

    /// Adds the next 10 ms to a mix. Returns whether there is anything to hear.
    func play(into mix: inout SoundMix, at now: Instant) -> Bool {
        while ahead.count < SoundMix.sampleCount {
            if !decodeNext(at: now) {
                // The remaining samples are the end of a faded sound.
                ahead.removeAll()
                power = 0
                return false
            }
        }
        let squares = mix.add(ahead[..<SoundMix.sampleCount])
        ahead.removeFirst(SoundMix.sampleCount)
        power += (squares / Double(SoundMix.sampleCount) - power) / 20
        return true
    }

    /// Returns false if there is nothing to play.
    private func decodeNext(at now: Instant) -> Bool {
        switch buffer.next(at: now) {
        case .packet(let packet, let samples, let surplus):
            do throws(OpusError) { try decoder.decode(packet.span, appendingTo: &ahead) } catch {
                conceal(samples)
            }
            if surplus != 0 { splice(surplus, at: now) }
        case .recovery(let packet, let samples):
            do throws(OpusError) {
                try decoder.recover(samples, from: packet.span, appendingTo: &ahead)
            } catch {
                conceal(samples)
            }
        case .concealment(let samples): conceal(samples)
        case .silence: return false
        }
        return true
    }

    private func conceal(_ samples: Int) {
        do throws(OpusError) { try decoder.conceal(samples, appendingTo: &ahead) } catch {
            ahead += repeatElement(0, count: samples * SoundMix.channels)
        }
    }

    /// Makes the waiting samples a period shorter or longer.
    private func splice(_ surplus: Int, at now: Instant) {
        guard now >= splicedAt + Self.spliceInterval,
            let splice = Splice(atBeginningOf: ahead, channels: SoundMix.channels),
            splice.likeness > Self.likeness || !isLoud || abs(surplus) > Self.urgentSurplus
        else { return }
        splicedAt = now
        if surplus > 0 { splice.shorten(&ahead) } else { splice.lengthen(&ahead) }
    }

    /// Whether the voice is loud enough to be understood.
    var isLoud: Bool { power > Self.faintest }

    /// When there may be something to play; nil while nothing waits.
    var nextDeadline: Instant? { buffer.nextDeadline }

    var statistics: Statistics {
        Statistics(
            level: power > 0 ? 10 * log10(2 * power / (32768 * 32768)) : nil,
            lossRatio: buffer.lossRatio,
            concealedRatio: buffer.concealedRatio,
            wait: buffer.wait
        )
    }
}
