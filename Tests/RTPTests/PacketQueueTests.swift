import RTP
import TestSupport
import Testing
import Time

@Suite struct PacketQueueTests {
    let start = Instant.seconds(1)

    /// Fills a queue with packets of 1200 bytes that carry their number.
    func queue(_ count: Int, rate: UInt64 = 12_500_000, capacity: Int = 4) -> PacketQueue {
        var queue = PacketQueue(
            pace: .init(rate: rate, burst: 12_000),
            packetSize: 1200,
            capacity: capacity,
            capacityLimit: 4096
        )
        append(count, to: &queue)
        return queue
    }

    func append(_ count: Int, to queue: inout PacketQueue, size: Int = 1200) {
        for number in 0..<count {
            queue.append { packet in
                packet.append(UInt8(truncatingIfNeeded: number))
                packet.append(contentsOf: repeatElement(0, count: size - 1))
            }
        }
    }

    @Test func smallFrameLeavesAtOnce() {
        var queue = queue(10)
        var batch = PacketBatch()
        while queue.dequeue(at: start, into: &batch) {}
        #expect(batch.count == 10)
        #expect((0..<batch.count).map { batch[$0].first! } == Array(0..<10))
        #expect(queue.nextDeadline == nil)
        #expect(queue.backlog(at: start).bytes == 0)
    }

    @Test func keyframeIsSpreadAtTheRate() {
        // 150 kB at 12.5 Mb/s take 96 ms, of which the burst saves 7.68 ms.
        var queue = queue(125)
        #expect(queue.backlog(at: start).bytes == 150_000)
        #expect(queue.backlog(at: start).duration == .nanoseconds(88_320_000))
        var batch = PacketBatch()
        var now = start
        var departures: [Instant] = []
        while let deadline = queue.nextDeadline {
            now = max(now, deadline)
            let before = batch.count
            while queue.dequeue(at: now, into: &batch) { departures.append(now) }
            #expect(batch.count > before, "a deadline that is reached lets something out")
        }
        #expect(departures.count == 125)
        #expect(departures[9] == start)
        #expect(departures[10] > start)
        #expect(departures.last == start + .nanoseconds(88_320_000))
        // For each time that the thread has to wake up, several packets leave.
        #expect(Set(departures).count <= 18)
        // In no window of 10 ms more than the rate and the burst allow.
        for (index, departure) in departures.enumerated() {
            let inWindow = departures[index...].prefix { $0 < departure + .milliseconds(10) }.count
            #expect(inWindow * 1200 <= 12_000 + 15_625 + 1200)
        }
    }

    @Test func keepsTheRateWhenPolledRarely() {
        var queue = queue(1000)
        var batch = PacketBatch()
        var now = start
        for _ in 0..<10 {
            while queue.dequeue(at: now, into: &batch) {}
            now += .milliseconds(5)
        }
        // The burst, then 45 ms of 12.5 Mb/s.
        let allowed = 12_000 + 70_312
        #expect(batch.bytes.count <= allowed)
        #expect(batch.bytes.count > allowed - 1200)
    }

    @Test func steadySmallFramesNeverWait() {
        var queue = queue(0)
        var batch = PacketBatch()
        for frame in 0..<300 {
            append(8, to: &queue)
            batch.removeAll()
            while queue.dequeue(at: start + .milliseconds(frame * 33), into: &batch) {}
            #expect(batch.count == 8)
        }
    }

    @Test(arguments: [0, 1, UInt64.max / 2, .max])
    func survivesClockJumps(_ jump: UInt64) {
        var queue = queue(100)
        var batch = PacketBatch()
        while queue.dequeue(at: start, into: &batch) {}
        #expect(batch.count == 10)
        var now = Instant.nanoseconds(jump)
        _ = queue.backlog(at: now)
        while queue.dequeue(at: now, into: &batch) {}
        // Packets still leave by their deadlines, and after a jump forward no more than a burst at once.
        if now < start { #expect(batch.count == 10) } else { #expect(batch.count >= 20) }
        while let deadline = queue.nextDeadline {
            now = max(now, deadline)
            expect(queue.dequeue(at: now, into: &batch))
        }
        #expect(batch.count == 100)
    }

    @Test func packetLargerThanTheBurstIsNotStuck() {
        var queue = PacketQueue(pace: .init(rate: 8000, burst: 100), packetSize: 1200)
        append(2, to: &queue, size: 1000)
        var batch = PacketBatch()
        expect(queue.dequeue(at: start, into: &batch))
        expect(!queue.dequeue(at: start, into: &batch))
        #expect(queue.nextDeadline == start + .seconds(1))
        expect(queue.dequeue(at: start + .seconds(1), into: &batch))
    }

    @Test func growsInOrderUpToTheLimit() {
        var queue = PacketQueue(
            pace: .init(rate: 1 << 40, burst: 1 << 30),
            packetSize: 8,
            capacity: 3,
            capacityLimit: 20
        )
        var batch = PacketBatch()
        var expected: [UInt8] = []
        for round in 0..<50 {
            while queue.room > round % 7 {
                let number = UInt8(truncatingIfNeeded: expected.count)
                queue.append { $0.append(number) }
                expected.append(number)
            }
            for _ in 0...round % 20 { _ = queue.dequeue(at: start, into: &batch) }
        }
        #expect(queue.count <= 20)
        while queue.dequeue(at: start, into: &batch) {}
        #expect(batch.bytes == expected)
    }

    @Test func videoPaceIsFiveTimesTheTarget() {
        #expect(Pacer.Pace.video(targetBitrate: 2_500_000) == .init(rate: 12_500_000, burst: 24_000))
        #expect(Pacer.Pace.video(targetBitrate: 20_000_000) == .init(rate: 100_000_000, burst: 62_500))
        #expect(Pacer.Pace.video(targetBitrate: 0).rate == 5)
        #expect(Pacer.Pace.video(targetBitrate: .max).rate > 0)
    }
}
