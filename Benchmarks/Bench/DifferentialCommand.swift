import ArgumentParser
import Differential

/// Compares the decoders' picture with the sender's account of it, on random desktops.
struct DifferentialCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "differential",
        abstract: "Send random desktops, and compare the decoders' pictures with the sender's, bit by bit.",
        discussion: "Exits 1 at the first difference, and says in which episode."
    )

    @Argument(help: "How many frames.")
    var frames: Int

    @Option(help: "Of the random numbers; another one each time if not given.")
    var seed: UInt64?

    @Option(help: "The first episode to run.")
    var episode: UInt64 = 0

    @Option(help: "Pixels of the largest picture.")
    var largest = 4096 * 4096

    func validate() throws {
        guard frames > 0, largest >= 16 * 16 else { throw ValidationError("FRAMES starts at 1, --largest at 256.") }
    }

    func run() throws {
        let seed = seed ?? UInt64.random(in: 1...1_000_000)
        print("comparing \(frames) frames with --seed \(seed)")
        var differential = try Differential(seed: seed, largest: largest, recordedShare: 50)
        differential.skip(to: episode)
        var nextReport = 0
        while differential.tally.frameCount < frames {
            try differential.runEpisode()
            guard differential.tally.frameCount >= nextReport else { continue }
            nextReport = differential.tally.frameCount + 10_000
            print("\(differential.episodes) episodes: \(differential.tally)")
        }
        print("\(differential.episodes) episodes: \(differential.tally)")
    }
}
