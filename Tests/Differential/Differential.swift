import FrameBridge
package import Media
import Pixels
import Posix
import Sender
import TestSupport
import Time
import VideoEncoding

/// Random desktops through the sender's way into decoders that others wrote: after every frame these show what the sender
/// believes that they show, bit by bit, and at rest the screen.
package struct Differential: ~Copyable {
    private let seed: UInt64
    private let largest: Int
    private let recordedShare: Int
    private let folder: TemporaryDirectory
    private var writer: FrameWriter
    private var reader: FrameReader
    private var now = Instant(nanoseconds: 1_000_000_000)
    package private(set) var episodes: UInt64 = 0
    package private(set) var tally = Tally()

    /// - Parameters:
    ///   - seed: where the random numbers begin.
    ///   - largest: pixels of the largest picture.
    ///   - recordedShare: one episode in so many is decoded by ffmpeg too.
    package init(seed: UInt64, largest: Int, recordedShare: Int) throws {
        let folder = try TemporaryDirectory()
        let directory = try BridgeDirectory(path: folder.file("bridge"), create: true)
        let writer = try FrameWriter(directory: directory, source: "a random desktop", framesPerSecond: 30)
        let reader = try FrameReader(directory: directory)
        self.seed = seed
        self.largest = largest
        self.recordedShare = recordedShare
        self.folder = folder
        self.writer = writer
        self.reader = reader
    }

    /// Runs one more episode. Throws a `Fault` that tells how to see it again.
    package mutating func runEpisode() throws {
        var random = SplitMix(seed: seed &+ episodes &* 0x1234_5678_9abc_def1)
        let plan = EpisodePlan(&random, largest: largest, recordedShare: recordedShare)
        var episode = Episode(plan, random, at: now)
        do {
            now = try episode.run(&writer, &reader) + .seconds(1)
        } catch {
            throw Failure(seed: seed, episode: episodes, reason: "\(error)")
        }
        tally.add(episode.tally)
        episodes += 1
    }

    /// Passes episodes by.
    package mutating func skip(to episode: UInt64) { episodes = episode }

    package struct Failure: Error, CustomStringConvertible {
        let seed: UInt64, episode: UInt64
        let reason: String

        package var description: String { "seed \(seed), episode \(episode): \(reason)" }
    }
}

/// What is wrong, and in what an episode.
struct Fault: Error, CustomStringConvertible {
    let text: String
    let plan: EpisodePlan

    var description: String { "\(text) (\(plan))" }
}

/// What was tried.
package struct Tally: Sendable, CustomStringConvertible {
    package internal(set) var published = 0
    /// Pictures of which a part has moved.
    package internal(set) var scrolls = 0
    package internal(set) var frames: [VideoCodec: Int] = [:]
    package internal(set) var keyframes = 0
    package internal(set) var patches = 0
    package internal(set) var dropped = 0
    package internal(set) var rests = 0
    /// By how many decibels a picture at rest was better than one plainly encoded, at the least; VP8's.
    package internal(set) var leastGain = Double.infinity

    package var frameCount: Int { frames.values.reduce(0, +) }

    package var description: String {
        let codecs = VideoCodec.allCases.map { "\(frames[$0] ?? 0) of \($0.rawValue)" }.joined(separator: ", ")
        return """
            \(frameCount) frames (\(codecs)), \(keyframes) keyframes, \(patches) patches, \(scrolls) scrolls, \
            \(dropped) dropped, \(rests) rests, VP8 then at the least \(leastGain) dB beside a plain encode
            """
    }

    mutating func note(_ frame: EncodingResult?, _ codec: VideoCodec) {
        guard let frame else {
            dropped += 1
            return
        }
        frames[codec, default: 0] += 1
        if frame.isKeyframe { keyframes += 1 }
        // No encoder is as fine.
        if codec == .vp8, frame.quantizer < 8 { patches += 1 }
    }

    mutating func note(_ codec: VideoCodec, decibels: Double, plain: Double) {
        if codec == .vp8 { leastGain = min(leastGain, decibels - min(plain, 47)) }
    }

    mutating func add(_ other: Tally) {
        published += other.published
        scrolls += other.scrolls
        frames.merge(other.frames, uniquingKeysWith: +)
        keyframes += other.keyframes
        patches += other.patches
        dropped += other.dropped
        rests += other.rests
        leastGain = min(leastGain, other.leastGain)
    }
}
