import Media
import TestSupport
import Testing
import Time

@testable import FrameBridge
@testable import Sender

/// What is encoded and sent of the sound, in virtual time.
@Suite struct SoundEngineTests {
    private static let start = Instant.seconds(1000)
    private static let silent = [Int16](repeating: 0, count: SoundBlock.samples)

    /// Blocks that come as they are heard.
    private final class Bench {
        private(set) var engine = SoundEngine()
        var now = start
        var horizon: Instant?
        var isPaused = false
        var follows = false
        var frames: [SoundFrames.Frame] = []

        /// - Parameter late: how long after it is over the block comes.
        func hear(_ blocks: Int = 1, late: Duration = .zero) {
            for _ in 0..<blocks {
                let block = SoundBlock(number: 1, capturedAt: now, channels: 1, follows: follows)
                let frame = engine.take(
                    block,
                    silent.span,
                    horizon: horizon,
                    isPaused: isPaused,
                    at: now + SoundBlock.duration + late
                )
                if let frame { frames.append(frame) }
                now += SoundBlock.duration
                follows = true
            }
        }

        func takeBeginning() -> SoundFrames.Frame? { engine.takeBeginning(horizon: horizon, isPaused: isPaused) }

        func takeKeepAlive() -> (packet: UInt8, sound: EncodedSound)? {
            engine.takeKeepAlive(isKeptAlive: true, at: now)
        }

        func lose(_ blocks: UInt64) { engine.noteLost(blocks) }

        func admits(_ size: Int, _ frame: SoundFrames.Frame, isKeptAlive: Bool = false) -> Bool {
            engine.admits(size, frame, isKeptAlive: isKeptAlive, at: now)
        }

        /// Encodes a frame to a packet of so many bytes. Returns whether it is sent.
        func encode(_ size: Int, isKeptAlive: Bool = false) -> Bool {
            now += EncodedSound.duration
            let frame = SoundFrames.Frame(capturedAt: now - EncodedSound.duration, channels: 2)
            return admits(size, frame, isKeptAlive: isKeptAlive)
        }
    }

    // MARK: - Blocks

    @Test func nothingIsEncodedThatWasHeardBeforeTheHorizon() {
        let bench = Bench()
        bench.hear(5)
        #expect(bench.frames.count == 2)
        #expect(!bench.engine.mustForget)
        // The half that waits is gone too.
        bench.horizon = bench.now + .milliseconds(25)
        bench.hear(3)
        #expect(bench.frames.count == 2)
        #expect(bench.engine.mustForget, "an encoder holds back what it was given last")
        let begin = bench.now
        bench.hear(4)
        #expect(bench.frames.dropFirst(2).map(\.capturedAt) == [begin, begin + EncodedSound.duration])
        #expect(bench.frames.dropFirst(2).allSatisfy { $0.capturedAt >= bench.horizon! })
        // It is forgotten once.
        _ = bench.admits(100, bench.frames[2])
        #expect(!bench.engine.mustForget)
        bench.hear(2)
        #expect(!bench.engine.mustForget)
    }

    /// The horizon moves between the two halves of a frame.
    @Test func aHalfFromBeforeTheHorizonIsNotHeard() {
        let bench = Bench()
        bench.hear(1)
        bench.horizon = bench.now
        let begin = bench.now
        bench.hear(2)
        #expect(bench.frames.map(\.capturedAt) == [begin])
        #expect(bench.engine.mustForget)
    }

    @Test func aBeginningIsHiddenToo() {
        let bench = Bench()
        bench.hear(1)
        bench.isPaused = true
        #expect(bench.takeBeginning() == nil)
        bench.isPaused = false
        bench.horizon = bench.now
        #expect(bench.takeBeginning() == nil)
        // The silence before what is heard first would seem to be from before the horizon.
        bench.hear(1)
        #expect(bench.takeBeginning() == nil)
        bench.hear(1)
        #expect(bench.frames.map(\.capturedAt) == [bench.horizon])
        bench.follows = false
        bench.now += .milliseconds(100)
        let begin = bench.now
        bench.hear(1)
        #expect(bench.takeBeginning()?.capturedAt == begin - SoundBlock.duration)
    }

    @Test func aPausedBroadcastIsSilent() {
        let bench = Bench()
        bench.hear(3)
        bench.isPaused = true
        bench.hear(100)
        #expect(bench.frames.count == 1)
        #expect(bench.engine.mustForget)
        bench.isPaused = false
        let begin = bench.now
        bench.hear(2)
        #expect(bench.frames.map(\.capturedAt) == [Self.start, begin])
        #expect(bench.engine.statistics.blocksLost == 0)
    }

    @Test func whatComesTooLateIsLost() {
        let bench = Bench()
        bench.hear(2, late: SoundEngine.longestDelay - SoundBlock.duration)
        #expect(bench.frames.count == 1)
        bench.hear(7, late: SoundEngine.longestDelay)
        #expect(bench.frames.count == 1)
        #expect(bench.engine.statistics.blocksLost == 7)
        bench.lose(3)
        #expect(bench.engine.statistics.blocksLost == 10)
        bench.hear(2)
        #expect(bench.frames.count == 2)
        #expect(bench.engine.statistics.blocks == 4)
    }

    /// Its clock is another one: what it says of the time would hold for all that comes later.
    @Test func whatIsYetToBeHeardIsLost() {
        let bench = Bench()
        bench.hear(2, late: .zero - SoundEngine.longestLead - SoundBlock.duration)
        #expect(bench.frames.count == 1)
        bench.hear(2, late: .zero - SoundEngine.longestLead - SoundBlock.duration - .nanoseconds(1))
        #expect(bench.frames.count == 1 && bench.engine.statistics.blocksLost == 2)
        bench.lose(.max)
        #expect(bench.takeBeginning() == nil)
    }

    // MARK: - Packets

    @Test func ofSilenceOnlyTheFirstPacketIsSent() {
        let bench = Bench()
        #expect(!bench.encode(1), "nothing was heard yet")
        #expect(bench.encode(200))
        let heardAt = bench.now
        #expect(bench.encode(1))
        for _ in 0..<100 { #expect(!bench.encode(3)) }
        // As a voice tells now and then how silence sounds.
        #expect(bench.encode(35))
        #expect(bench.encode(1))
        #expect(!bench.encode(1))
        #expect(bench.encode(200))
        let statistics = bench.engine.statistics
        #expect(statistics.packets == 5 && statistics.bytes == 437)
        #expect(statistics.channels == 2)
        #expect(statistics.heardAt == bench.now && heardAt < bench.now)
    }

    @Test func silenceIsToldToThoseWhoWouldLeave() throws {
        let bench = Bench()
        // From the first on, before anything is heard.
        #expect(bench.engine.keepAliveAt(isKeptAlive: false) == nil)
        var sent: [EncodedSound] = []
        for _ in 0..<10 {
            bench.now = max(bench.now, try #require(bench.engine.keepAliveAt(isKeptAlive: true)))
            let (packet, sound) = try #require(bench.takeKeepAlive())
            // RFC 6716 §3.1, §3.2.1: 20 ms of two channels, and no byte of them.
            #expect(packet >> 3 == 31 && packet & 7 == 4)
            #expect(bench.takeKeepAlive() == nil)
            sent.append(sound)
        }
        #expect(bench.now == Self.start + SoundEngine.keepAliveInterval * 9)
        for (one, other) in zip(sent, sent.dropFirst()) {
            #expect(other.capturedAt - one.capturedAt == SoundEngine.keepAliveInterval)
        }
        // What was heard before the last one was sent follows it in its place.
        bench.now = bench.now - .milliseconds(50)
        let begin = bench.now
        bench.hear(2)
        #expect(bench.frames.map(\.capturedAt) == [begin])
        // While sound is sent, nothing else is.
        #expect(bench.encode(100, isKeptAlive: true))
        #expect(bench.engine.keepAliveAt(isKeptAlive: true) == bench.now + SoundEngine.keepAliveInterval)
        // Packets of silence do as well where there are any.
        #expect(bench.encode(1, isKeptAlive: true))
        let told = (1...40).filter { _ in bench.encode(1, isKeptAlive: true) }
        #expect(told == [20, 40])
        #expect(bench.takeKeepAlive() == nil)
    }

    /// However sound and silence alternate, a sink that needs it never waits for longer, and packets stay in order.
    @Test(arguments: UInt64(1)...10) func thoseWhoWouldLeaveNeverWait(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let bench = Bench()
        var (lastAt, end) = (bench.now, Instant.start)
        func note(_ capturedAt: Instant, at now: Instant) {
            #expect(now - lastAt <= SoundEngine.keepAliveInterval + SoundBlock.duration)
            #expect(capturedAt >= end && capturedAt <= now)
            (lastAt, end) = (now, capturedAt + EncodedSound.duration)
        }
        for _ in 0..<200 {
            if Bool.random(using: &random) {
                for _ in 0..<Int.random(in: 1...80, using: &random) {
                    let before = bench.frames.count
                    bench.hear()
                    let size = Int.random(in: 0..<3, using: &random) == 0 ? 100 : 1
                    if bench.frames.count > before, let frame = bench.frames.last,
                        bench.admits(size, frame, isKeptAlive: true)
                    {
                        note(frame.capturedAt, at: bench.now)
                    }
                    if let (_, sound) = bench.takeKeepAlive() { note(sound.capturedAt, at: bench.now) }
                }
            } else {
                let silence = bench.now + .milliseconds(Int.random(in: 0...2000, using: &random))
                while let due = bench.engine.keepAliveAt(isKeptAlive: true), due <= silence {
                    bench.now = max(bench.now, due)
                    let (_, sound) = try #require(bench.takeKeepAlive())
                    note(sound.capturedAt, at: bench.now)
                }
                bench.now = max(bench.now, silence)
                bench.follows = false
            }
        }
    }
}
