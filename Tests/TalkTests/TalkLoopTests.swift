import FrameBridge
import Media
import Posix
import SoundCoding
import Synchronization
import TestSupport
import Testing
import Time

@testable import Talk

@Suite struct TalkLoopTests {
    /// In virtual time, which is before the present: readers take what is hidden later than it was written for damage.
    private static let start = MonotonicClock.now() - .seconds(3600)

    /// Peers 1, 2 and so on speak at once, and all are heard; a block is read when it is written.
    private func play(
        _ speeches: [Speech],
        for time: Duration,
        _ ring: TalkRing,
        isLost: (Int) -> Bool = { _ in false },
        each: (Int, TalkLoop) -> Void = { _, _ in }
    ) throws -> (blocks: [SoundBlock], samples: [Int16]) {
        var speeches = speeches
        var all: (blocks: [SoundBlock], samples: [Int16]) = ([], [])
        let loop = TalkLoop(into: try ring.writer()) { Issue.record("\($0)") }
        for tick in 0..<Int(time / .milliseconds(10)) {
            let now = Self.start + .milliseconds(10 * tick)
            var work = TalkBack.Work()
            work.heard = Set(speeches.indices.map { ParticipantID($0 + 1) })
            if tick % 2 == 0 {
                for index in speeches.indices {
                    if let packet = speeches[index].next(at: now), !isLost(tick / 2) {
                        work.packets.append((ParticipantID(index + 1), packet))
                    }
                }
            }
            let deadline = loop.perform(work, at: now)
            #expect(deadline.map { $0 > now } ?? true)
            let read = try ring.read()
            all.blocks += read.blocks
            all.samples += read.samples
            each(tick, loop)
        }
        return all
    }

    /// A voice stands in the ring, block behind block, and sounds as it was spoken.
    @Test(arguments: 1...2)
    func aVoiceIsHeard(channels: Int) throws {
        let ring = try TalkRing()
        let sweep = SoundClip.sweep(lasting: 2, channels: channels)
        let (blocks, samples) = try play([Speech(sweep)], for: .seconds(4), ring)
        #expect(200...230 ~= blocks.count)
        #expect(blocks.map(\.follows) == [false] + Array(repeating: true, count: blocks.count - 1))
        for (one, next) in zip(blocks, blocks.dropFirst()) {
            #expect(next.capturedAt == one.capturedAt + .milliseconds(10) && next.number == one.number + 1)
        }
        #expect(blocks.allSatisfy { $0.channels == 2 })
        // No later than packets wait at first.
        #expect(blocks[0].capturedAt <= Self.start + .milliseconds(60))
        let heard = SoundClip(samples: samples, channels: 2)
        for channel in 0..<2 {
            let found = try #require(
                SoundAnalysis.find(sweep.part(0.2..<1.8).channel(), in: heard.channel(channel))
            )
            #expect(found.correlation > 0.95, "\(found)")
        }
    }

    /// Two voices are heard at once, as loud as each is.
    @Test func voicesAreMixed() throws {
        let ring = try TalkRing()
        let sweeps = [SoundClip.sweep(from: 200, to: 1500, lasting: 2), .sweep(from: 6000, to: 3000, lasting: 2)]
        var loud: Set<ParticipantID> = []
        let (_, samples) = try play(
            sweeps.map { try Speech($0) },
            for: .seconds(3),
            ring,
            each: { _, loop in loud.formUnion(loop.outcome.loud) }
        )
        #expect(loud == [1, 2])
        let heard = SoundClip(samples: samples, channels: 2).channel()
        for sweep in sweeps {
            let found = try #require(SoundAnalysis.find(sweep.part(0.2..<1.8).channel(), in: heard))
            // Of two that are equally loud, each is half of the power.
            #expect(abs(found.correlation - 0.707) < 0.06, "\(found)")
        }
    }

    /// Voices that are too loud together are cut off, and do not turn over.
    @Test func loudVoicesAreCutOff() throws {
        var mix = SoundMix()
        for voices in 1...4 {
            var sums = [Int](repeating: 0, count: SoundMix.sampleCount)
            var random = SplitMix(seed: UInt64(voices))
            for _ in 0..<voices {
                let voice = sums.map { _ in Int16.random(in: .min ... .max, using: &random) }
                let squares = mix.add(voice[...])
                #expect(squares == voice.reduce(0) { $0 + Double($1) * Double($1) })
                for index in sums.indices { sums[index] += Int(voice[index]) }
            }
            expect(mix.finish())
            #expect(mix.samples == sums.map { Int16(clamping: $0) })
        }
        expect(!mix.finish())
        #expect(mix.samples.allSatisfy { $0 == 0 })
    }

    /// What is lost is made up for: nothing is missing between the blocks, and the words are there.
    @Test func lossesAreMadeUpFor() throws {
        let ring = try TalkRing()
        let words = try SoundClip.words("One two three four five six seven eight nine ten.")
        let lost = Set(stride(from: 7, to: 1000, by: 10))
        var statistics: Voice.Statistics?
        let (blocks, samples) = try play(
            [Speech(words)],
            for: .seconds(words.duration + 0.5),
            ring,
            isLost: lost.contains
        ) { tick, loop in
            if Double(tick) * 0.01 < words.duration - 0.2 { statistics = loop.outcome.statistics[1] ?? statistics }
        }
        #expect(zip(blocks, blocks.dropFirst()).allSatisfy { $1.capturedAt == $0.capturedAt + .milliseconds(10) })
        let found = try #require(
            SoundAnalysis.find(
                words.part(0.3..<words.duration - 0.3).channel(),
                in: SoundClip(samples: samples, channels: 2).channel()
            )
        )
        #expect(found.correlation > 0.8, "\(found)")
        let told = try #require(statistics)
        #expect(0.02...0.15 ~= told.lossRatio, "\(told)")
        #expect(0.003...0.2 ~= told.concealedRatio, "\(told)")
        #expect(.milliseconds(20)...(.milliseconds(80)) ~= told.wait)
        #expect(told.level.map { -50...(-5) ~= $0 } ?? false, "\(told)")
    }

    /// Of digital silence, a little is written, and nothing after that; what follows later does not follow.
    @Test func silenceIsNotWritten() throws {
        let ring = try TalkRing()
        let clip = SoundClip.sweep(lasting: 1) + .silence(lasting: 6) + .sweep(lasting: 1)
        let (blocks, _) = try play([Speech(clip)], for: .seconds(9), ring)
        // The noise behind a voice, which decoders make up, fades for a while.
        #expect(blocks.count < 500, "\(blocks.count)")
        #expect(blocks.count(where: { !$0.follows }) == 2)
        let gap = zip(blocks, blocks.dropFirst()).first { !$1.follows }
        let (before, after) = try #require(gap)
        #expect(after.capturedAt - before.capturedAt > .seconds(2))
    }

    /// What was said before is taken back, and what is said later is heard.
    /// Invariant: permitted.
    @Test func whatIsTakenBackIsGone() throws {
        let ring = try TalkRing()
        let loop = TalkLoop(into: try ring.writer()) { Issue.record("\($0)") }
        var speech = try Speech(.tone(500, lasting: 3))
        func perform(_ tick: Int, heard: Set<ParticipantID> = [1], revocations: UInt64) {
            var work = TalkBack.Work(heard: heard, revocations: revocations)
            let now = Self.start + .milliseconds(10 * tick)
            if tick % 2 == 0, let packet = speech.next(at: now), heard == [1] { work.packets = [(1, packet)] }
            _ = loop.perform(work, at: now)
        }
        perform(0, revocations: 0)
        _ = try ring.read()
        for tick in 1..<60 { perform(tick, revocations: 0) }
        perform(60, heard: [], revocations: 1)
        expect(try ring.read().blocks.isEmpty)
        #expect(loop.outcome.isIdle)
        for tick in 61..<120 { perform(tick, revocations: 1) }
        let blocks = try ring.read().blocks
        #expect(blocks.count > 40)
        #expect(blocks[0].capturedAt > Self.start + .milliseconds(600))
    }

    /// A process that did not get to run goes on with what is now.
    @Test(arguments: [50, 300, 5000])
    func whatIsTooLateIsNotMadeUpFor(delay: Int) throws {
        let ring = try TalkRing()
        let loop = TalkLoop(into: try ring.writer()) { Issue.record("\($0)") }
        var speech = try Speech(.tone(500, lasting: 9))
        var blocks: [SoundBlock] = []
        var now = Self.start
        for tick in 0..<200 {
            now += .milliseconds(tick == 100 ? delay : 10)
            var work = TalkBack.Work(heard: [1])
            while (now - Self.start) / .milliseconds(20) > Double(speech.sent), let packet = speech.next(at: now) {
                work.packets.append((1, packet))
            }
            var deadline = loop.perform(work, at: now)
            work.packets.removeAll()
            // What is a little late is made up for at once.
            while let due = deadline, due <= now { deadline = loop.perform(work, at: now) }
            blocks += try ring.read().blocks
        }
        let breaks = blocks.dropFirst().count { !$0.follows }
        #expect(breaks == (delay > 100 ? 1 : 0))
        #expect(blocks.last!.capturedAt > now - .milliseconds(20))
        #expect(blocks.count < 220)
    }

    /// Whatever comes, a block is no more than a block, and the thread comes to an end.
    /// Invariant: permitted.
    @Test(arguments: 1...6 as ClosedRange<UInt64>)
    func hostileTalkers(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let ring = try TalkRing()
        let loop = TalkLoop(into: try ring.writer()) { Issue.record("\($0)") }
        let speech = try Speech(.sweep(lasting: 1))
        var (now, number) = (Self.start, UInt16(0))
        for _ in 0..<300 {
            now += .milliseconds(10)
            var work = TalkBack.Work(heard: [1, 2, 3, 4])
            for _ in 0..<Int.random(in: 0...30, using: &random) {
                var bytes = speech.packets.randomElement(using: &random)!
                switch Int.random(in: 0..<4, using: &random) {
                case 0: bytes = Array(bytes.prefix(Int.random(in: 1...bytes.count, using: &random)))
                case 1: bytes[0] = .random(in: 0...255, using: &random)
                case 2:
                    bytes = (0..<Int.random(in: 1...1200, using: &random)).map { _ in
                        .random(in: 0...255, using: &random)
                    }
                default: break
                }
                number &+= UInt16.random(in: 0...3, using: &random)
                let packet = ReceivedSound(
                    sequenceNumber: number,
                    timestamp: UInt32(number) &* .random(in: 900...1000, using: &random),
                    arrivedAt: now,
                    bytes: bytes
                )
                work.packets.append((ParticipantID(.random(in: 1...4, using: &random)), packet))
            }
            let deadline = loop.perform(work, at: now)
            #expect(deadline.map { $0 > now } ?? true)
            expect(try ring.read().blocks.count <= 1)
        }
        // Nothing comes any more.
        for _ in 0..<1500 where !loop.outcome.isIdle {
            now += .milliseconds(10)
            _ = loop.perform(TalkBack.Work(heard: [1, 2, 3, 4]), at: now)
        }
        #expect(loop.outcome.isIdle)
    }
}
