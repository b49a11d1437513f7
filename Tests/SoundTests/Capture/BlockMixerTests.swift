import FrameBridge
import TestSupport
import Testing
import Time

@testable import Sound

@Suite struct BlockMixerTests {
    /// Streams that bring 10 ms each step, all on this machine's clock.
    private struct Virtual {
        var mixer = BlockMixer()
        var now = Instant.seconds(1000)
        var blocks: [BlockMixer.Block] = []
        var samples: [[Int16]] = []

        mutating func add(_ id: Int, channels: Int) { mixer.add(id, channels: channels, from: now) }

        /// A step in which each of these streams brings samples of one value.
        ///
        /// - Parameter lateness: of the second stream.
        mutating func step(_ values: [Int: Int16], lateness: Duration = .zero) {
            now += SoundBlock.duration
            for (id, value) in values.sorted(by: { $0.key < $1.key }) {
                mixer.withStream(id, at: now) { stream in
                    let piece = [Int16](repeating: value, count: SoundBlock.samples * stream.channels)
                    piece.withUnsafeBufferPointer { stream.append($0, at: now) }
                    let capturedAt = now - (id == 2 ? lateness : .zero)
                    if stream.needsReport { stream.note(ahead: 0, capturedAt: capturedAt, at: now) }
                }
            }
            while let block = mixer.takeBlock(at: now) {
                blocks.append(block)
                samples.append(mixer.samples)
            }
        }
    }

    @Test func oneStreamBecomesBlocksAtOnce() {
        var virtual = Virtual()
        let start = virtual.now
        virtual.add(1, channels: 2)
        for value in 1...100 { virtual.step([1: Int16(value)]) }
        #expect(virtual.blocks.map(\.capturedAt) == (0..<100).map { start + SoundBlock.duration * $0 })
        #expect(virtual.blocks.map(\.follows) == [false] + [Bool](repeating: true, count: 99))
        #expect(virtual.blocks.allSatisfy { $0.channels == 2 })
        #expect(virtual.samples == (1...100).map { [Int16](repeating: Int16($0), count: 960) })
    }

    @Test func whatBeginsInTheMiddleOfABlockHasSilenceBefore() {
        var virtual = Virtual()
        virtual.now += .milliseconds(5)
        virtual.add(1, channels: 1)
        for _ in 0..<3 { virtual.step([1: 7]) }
        #expect(virtual.samples[0] == [Int16](repeating: 0, count: 240) + [Int16](repeating: 7, count: 240))
        #expect(virtual.samples[1] == [Int16](repeating: 7, count: 480))
    }

    @Test func severalAddUpAndDoNotOverflow() {
        var virtual = Virtual()
        virtual.add(1, channels: 2)
        virtual.add(2, channels: 1)
        virtual.step([1: 100, 2: 23])
        virtual.step([1: 30_000, 2: 30_000])
        virtual.step([1: -30_000, 2: -30_000])
        #expect(virtual.samples == [123, 32767, -32768].map { [Int16](repeating: $0, count: 960) })
    }

    @Test func aVoiceAloneHasOneChannel() {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        virtual.step([1: 5])
        #expect(virtual.blocks[0].channels == 1 && virtual.samples[0].count == 480)
    }

    /// And longer as long as it is not known how late it usually is.
    @Test(arguments: [(before: 10, wait: 20), (before: 2500, wait: 5)])
    func oneThatBringsNothingHoldsUpTheOthersOnce(before: Int, wait: Int) {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        virtual.add(2, channels: 1)
        for _ in 0..<before { virtual.step([1: 1, 2: 10]) }
        #expect(virtual.blocks.count == before)
        for _ in 0..<wait { virtual.step([1: 1]) }
        #expect(virtual.blocks.count == before, "it may come yet")
        for _ in 0..<20 { virtual.step([1: 1]) }
        #expect(virtual.blocks.count == before + wait + 20, "it is not waited for again")
        #expect(virtual.samples.last == [Int16](repeating: 1, count: 480))
        #expect(virtual.blocks.dropFirst().allSatisfy { $0.follows })
        for _ in 0..<60 { virtual.step([1: 1, 2: 10]) }
        #expect(virtual.samples.last == [Int16](repeating: 11, count: 480))
    }

    /// A microphone by radio, say.
    @Test(arguments: [0, 40, 60, 100, 200, 230]) func oneThatIsAlwaysLateIsHeard(lateness: Int) {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        virtual.add(2, channels: 1)
        for _ in 0..<200 { virtual.step([1: 1, 2: 10], lateness: .milliseconds(lateness)) }
        let last = virtual.samples.suffix(100)
        #expect(last.count == 100 && last.allSatisfy { $0 == [Int16](repeating: 11, count: 480) })
        #expect(virtual.now - virtual.blocks.last!.capturedAt <= .milliseconds(lateness + 10))
    }

    @Test func oneThatIsMuchTooLateHoldsUpNobody() {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        virtual.add(2, channels: 1)
        for _ in 0..<200 { virtual.step([1: 1, 2: 10], lateness: .milliseconds(400)) }
        #expect(virtual.samples.last == [Int16](repeating: 1, count: 480))
        #expect(virtual.now - virtual.blocks.last!.capturedAt <= BlockMixer.patience + SoundBlock.duration)
    }

    @Test func oneThatEndsLeavesTheOthers() {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        virtual.add(2, channels: 1)
        for _ in 0..<5 { virtual.step([1: 1, 2: 10]) }
        virtual.mixer.remove(2)
        for _ in 0..<5 { virtual.step([1: 1]) }
        #expect(virtual.blocks.count == 10 && virtual.samples[9] == [Int16](repeating: 1, count: 480))
    }

    @Test func silenceEndsAndSoundBeginsAgain() {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        for _ in 0..<100 { virtual.step([1: 0]) }
        #expect(virtual.blocks.count == BlockMixer.tail, "a tail of 300 ms")
        #expect(virtual.mixer.isSilent && virtual.mixer.deadline(at: virtual.now) == nil)
        virtual.step([1: 3])
        #expect(virtual.blocks.count == BlockMixer.tail + 1 && virtual.blocks.last?.follows == false)
        #expect(!virtual.mixer.isSilent)
        for _ in 0..<BlockMixer.tail { virtual.step([1: 0]) }
        virtual.step([1: 3])
        #expect(virtual.blocks.last?.follows == true, "a pause of 300 ms is none")
    }

    @Test func whatIsPlayedLaterWaitsUntilThen() {
        var virtual = Virtual()
        virtual.add(1, channels: 1)
        virtual.step([1: 3])
        // A monitor hears 100 ms before they are played.
        virtual.mixer.withStream(1, at: virtual.now) { stream in
            [Int16](repeating: 4, count: 4800).withUnsafeBufferPointer { stream.append($0, at: virtual.now) }
        }
        while virtual.mixer.takeBlock(at: virtual.now) != nil {}
        var times: [Instant] = []
        while let due = virtual.mixer.deadline(at: virtual.now) {
            #expect(due > virtual.now)
            virtual.now = due
            while let block = virtual.mixer.takeBlock(at: virtual.now) {
                times.append(block.capturedAt)
                #expect(block.capturedAt <= virtual.now + BlockMixer.mostAhead)
            }
        }
        #expect(times.count == 7, "three begin within 20 ms")
    }

    @Test func withoutStreamsThereIsNothing() {
        var virtual = Virtual()
        for _ in 0..<10 { virtual.step([:]) }
        #expect(virtual.blocks.isEmpty && virtual.mixer.deadline(at: virtual.now) == nil)
    }
}
