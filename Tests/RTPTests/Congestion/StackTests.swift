import Media
import TestSupport
import Testing
import Time

@testable import RTP

/// The streams of a peer with the estimate of its link, over links in virtual time.
@Suite struct StackTests {
    private static let page = 60_000

    /// One that has sent a first picture.
    private func begin(_ conditions: VirtualLink.Conditions, seed: UInt64 = 1) -> StackSimulation {
        var stack = StackSimulation(conditions, seed: seed)
        stack.append(bytes: Self.page, isKeyframe: true)
        stack.run(for: .seconds(5))
        return stack
    }

    @Test func packetsOfAllKindsHaveOneSequenceOfNumbers() {
        var stack = begin(.init(rate: 2e6, loss: .random(0.05)))
        stack.run(for: .seconds(20), each: .milliseconds(200)) { $0.append(bytes: 20_000) }
        #expect(stack.packetsRepeated > 10)
        #expect(stack.transportNumbers == stack.transportNumbers.indices.map { UInt16(truncatingIfNeeded: $0) })
    }

    /// Nothing is known of a link, and it is measured by what is sent anyway: the queue stays short.
    @Test(arguments: [0.3e6, 1e6, 3e6, 20e6, 1e9], [100, 3000, 10_000, 25_000, 60_000])
    func theFirstPictureMeasuresTheLink(rate: Double, size: Int) throws {
        var stack = StackSimulation(.init(rate: rate, queue: .seconds(2)))
        stack.append(bytes: size, isKeyframe: true)
        stack.run(for: .seconds(Double(size + 15_000) * 8 / rate) + .milliseconds(300))
        let estimator = try #require(stack.bundle.estimator)
        #expect(estimator.isMeasured)
        #expect(estimator.estimate <= 1.05 * rate)
        #expect(estimator.estimate >= 0.7 * min(rate, Double(StackSimulation.target)))
        #expect(stack.paddingSent <= max(14_000 - size, 0))
        let ideal = Duration.seconds(Double(size) * 8 / rate)
        let latency = try #require(stack.latencies[0])
        #expect(latency <= ideal * 1.5 + .milliseconds(250), "\(latency)")
    }

    /// A page after rest takes about as long as the link needs for it.
    @Test(arguments: [0.3e6, 1e6, 3e6, 10e6], [10, 100])
    func aPageAfterRestIsSentAsFastAsTheLinkIs(rate: Double, delay: Int) throws {
        var stack = begin(.init(rate: rate, queue: .seconds(1), delay: .milliseconds(delay)))
        for _ in 0..<3 {
            stack.append(bytes: Self.page)
            stack.run(for: .seconds(8))
        }
        let latency = try #require(stack.latencies.last ?? nil)
        let ideal = Duration.seconds(Double(Self.page) * 8 / rate) + .milliseconds(delay)
        #expect(latency <= ideal * 1.35 + .milliseconds(50), "\(latency), not \(ideal)")
    }

    /// After the last packet nothing comes that would show that it is lost.
    @Test(arguments: 1...20) func aLostTailIsSentAgain(seed: UInt64) {
        var stack = begin(.init(rate: 2e6), seed: seed)
        stack.link.conditions.loss = .bursts(good: 20, bad: 4)
        stack.run(for: .seconds(20), each: .seconds(1)) { $0.append(bytes: 500) }
        stack.run(for: .seconds(3))
        #expect(stack.latencies.allSatisfy { $0 != nil })
        #expect(stack.latencies.count { $0 ?? .seconds(9) > .milliseconds(900) } <= 2)
    }

    /// Somebody types, at four speeds, over a link that loses ten packets in a row now and then, and sometimes fifty: repetitions
    /// get past them soon.
    @Test(arguments: 1...10, [70, 100, 143, 400]) func burstsDelayFewLetters(seed: UInt64, interval: Int) throws {
        var stack = begin(.init(rate: 2e6, delay: .milliseconds(20)), seed: seed)
        let before = try #require(stack.bundle.estimator).estimate
        stack.link.conditions.loss = .bursts(good: 490, bad: 10)
        var least = before
        stack.run(for: .seconds(120), each: .milliseconds(interval)) {
            $0.append(bytes: 500)
            least = min(least, $0.bundle.estimator?.estimate ?? 0)
        }
        // The last letter has a test of its own: a burst ends with what is sent, and few copies of it are.
        stack.link.conditions.loss = .none
        stack.run(for: .seconds(3), each: .milliseconds(interval)) { $0.append(bytes: 500) }
        stack.run(for: .seconds(1))
        #expect(least >= 0.2 * before, "what is lost in a row says little about the link")
        let latencies = stack.latencies
        #expect(latencies.allSatisfy { $0 != nil })
        let late = latencies.count { $0 ?? .seconds(9) > .milliseconds(150) }
        #expect(late <= latencies.count / 60, "\(late) of \(latencies.count)")
        #expect(latencies.allSatisfy { $0 ?? .seconds(9) < .milliseconds(1200) })
    }

    /// A peer that is gone is not sent the last packet for ever.
    @Test func aTailIsSentAgainNoMoreThan31Times() {
        var stack = begin(.init(rate: 2e6))
        stack.link.conditions.loss = .random(1)
        stack.append(bytes: 500)
        stack.run(for: .seconds(60))
        #expect(stack.packetsRepeated == 31)
    }

    /// A still screen costs nothing, whatever is known of the link.
    @Test func nothingIsSentWhileNothingIsNew() {
        var stack = begin(.init(rate: 1e6))
        let before = stack.bytesSent
        stack.run(for: .seconds(60))
        #expect(stack.bytesSent == before)
    }

    /// A link that carries more than before is found by what waits for it.
    @Test func aFasterLinkIsFoundByAPage() throws {
        var stack = begin(.init(rate: 0.5e6, queue: .seconds(1)))
        stack.link.conditions.rate = 10e6
        stack.run(for: .seconds(30), each: .seconds(3)) { $0.append(bytes: Self.page) }
        #expect(try #require(stack.bundle.estimator).estimate >= 5e6)
        #expect(try #require(stack.latencies.last ?? nil) <= .milliseconds(150))
    }

    /// While little is sent, padding measures the link, and it is little too.
    @Test func aFasterLinkIsFoundWithPadding() throws {
        var stack = begin(.init(rate: 0.5e6, queue: .seconds(1)))
        stack.link.conditions.rate = 10e6
        stack.run(for: .seconds(20), each: .milliseconds(50)) { $0.append(bytes: 1000) }
        #expect(try #require(stack.bundle.estimator).estimate >= 1.2 * Double(StackSimulation.target))
        #expect(1...60_000 ~= stack.paddingSent)
    }

    /// A keyframe that takes seconds holds up no sound, and the sound holds up the keyframe by what it takes itself.
    @Test(arguments: [0.3e6, 0.5e6, 1e6, 3e6], [10, 100])
    func soundPassesAKeyframe(rate: Double, delay: Int) throws {
        func run(hasSound: Bool) throws -> (keyframe: Duration, sound: [Duration]) {
            var stack = StackSimulation(
                .init(rate: rate, queue: .seconds(1), delay: .milliseconds(delay)),
                hasSound: hasSound
            )
            stack.append(bytes: Self.page, isKeyframe: true)
            // 64 kb/s.
            let hear = { (stack: inout StackSimulation) in if hasSound { stack.hear(bytes: 160) } }
            stack.run(for: .seconds(8), each: .milliseconds(20), hear)
            let before = stack.soundDelays.count
            stack.append(bytes: 150_000, isKeyframe: true)
            stack.run(for: .seconds(10), each: .milliseconds(20), hear)
            return (try #require(stack.latencies.last ?? nil), Array(stack.soundDelays.dropFirst(before)))
        }
        let alone = try run(hasSound: false)
        let both = try run(hasSound: true)
        #expect(both.sound.count == 500)
        #expect(try #require(both.sound.max()) <= .milliseconds(delay + 180))
        #expect(both.keyframe <= alone.keyframe * (rate / (rate - 90_000)) + .milliseconds(200))
    }

    /// Sound without numbers takes none from the picture beside it: the peer would take them for lost.
    @Test func aStreamWithoutNumbersLeavesNoGaps() {
        var random = SplitMix64(seed: 1)
        let now = Instant.seconds(1)
        let sound = PacketHistory(soundOf: 1000, capacity: 100)
        let video = PacketHistory(codec: .vp8, maximumPayloadSize: 1100, capacity: 100, using: &random)
        let extensions = HeaderExtensions(transportNumber: 5)
        var bundle = StreamBundle(
            [
                (.init(payloadType: 111, retransmissionPayloadType: nil, mid: "0"), sound),
                (.init(payloadType: 96, retransmissionPayloadType: 97, extensions: extensions, mid: "1"), video),
            ],
            pace: .video(targetBitrate: 2_500_000),
            clock: ClockReading(monotonic: now, wall: 0),
            using: &random
        )
        for _ in 0..<5 { sound.append(sound: [1, 2, 3], capturedAt: now, now: now) }
        video.append(
            frame: [UInt8](repeating: 7, count: 8000),
            isKeyframe: true,
            dimensions: (64, 64),
            capturedAt: now,
            now: now
        )
        var numbers: [UInt8] = []
        var (bytes, later): ([UInt8], Instant) = ([], now)
        while later < now + .milliseconds(100) {
            later += .milliseconds(1)
            while bundle.writeNext(at: later, to: &bytes) {
                if let number = extensionElements(of: bytes)[5] { numbers.append(number[1]) }
                bytes.removeAll()
            }
        }
        // The rest is padding.
        #expect(numbers.count >= 8 && numbers == Array(0..<UInt8(numbers.count)))
    }

    @Test func aPeerWithoutNumbersHasNoEstimate() {
        var random = SplitMix64(seed: 1)
        let history = PacketHistory(codec: .vp8, maximumPayloadSize: 1100, capacity: 100, using: &random)
        let parameters = OutgoingStream.Parameters(payloadType: 96, retransmissionPayloadType: 97, mid: "0")
        let clock = ClockReading(monotonic: .seconds(1), wall: 0)
        let bundle = StreamBundle(
            [(parameters, history)],
            pace: .video(targetBitrate: 1000),
            clock: clock,
            using: &random
        )
        #expect(bundle.estimator == nil)
    }
}
