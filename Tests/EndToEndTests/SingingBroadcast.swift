import Glibc
import TestSupport

extension Programs {
    /// The program that writes the sound of a broadcast, as the user who runs that.
    static let bridgePeer: String = {
        atexit { Programs.peerInstallation.remove() }
        do {
            return try OrdinaryUser.shared.launcher(of: "\(directory)/bridge-peer", in: peerInstallation)
        } catch {
            preconditionFailure("cannot install bridge-peer: \(error)")
        }
    }()
    private static let peerInstallation = try! TemporaryDirectory()
}

extension Broadcast {
    /// Has a program write the broadcast's sound, without a sound server.
    ///
    /// - Parameter words: as of `BridgePeer.sing`.
    func sing(_ words: String...) throws -> Subprocess {
        let singer = try Subprocess([Programs.bridgePeer, "sing", directory] + words)
        try wait(until: "it is heard") {
            if let exit = singer.status() { throw Unexpected("\(exit): \(singer.output) \(singer.errorOutput)") }
            return singer.output.contains("begun")
        }
        return singer
    }
}

/// What a viewer has heard.
struct HeardSound {
    let clip: SoundClip

    /// - Parameter path: of a file of samples, 16 bit, 48 kHz, two channels.
    init(_ path: String) { clip = SoundClip(reading: path, channels: 2) }

    init(_ clip: SoundClip) { self.clip = clip }

    /// How much louder the tone of a channel is than all else in it, in dB, in the seconds of a range.
    func purity(of frequency: Double, channel: Int, in range: Range<Double>) -> Double {
        let samples = clip.part(range).channel(channel)
        let tone = SoundAnalysis.level(of: frequency, in: samples)
        // Two more of the levels are those of other tones.
        let others = stride(from: 300.0, through: 3000, by: 50).filter { abs($0 - frequency) > 100 }
        return tone - others.map { SoundAnalysis.level(of: $0, in: samples) }.max()!
    }

    /// The longest time without sound, in seconds, after the first that is heard.
    var longestGap: Double {
        let size = 480
        let levels = stride(from: 0, to: clip.samples.count / 2 - size, by: size).map { start in
            clip.samples[2 * start..<2 * (start + size)].reduce(0) { max($0, abs(Int($1))) }
        }
        var (longest, gap) = (0, 0)
        for level in levels.drop(while: { $0 < 1000 }) {
            gap = level < 1000 ? gap + 1 : 0
            longest = max(longest, gap)
        }
        return Double(longest) / 100
    }
}
