import Media
import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct JitterBufferTests {
    private static let wired = VirtualLink.Conditions(rate: 10_000_000, delay: .milliseconds(20))

    /// Over a link that delays all packets alike, each is played in its turn, soon, and nothing is made up.
    @Test func overAWireAllIsPlayedSoon() {
        var talk = TalkSimulation(Self.wired)
        talk.run(.seconds(60))
        let indices = talk.played.compactMap(\.index)
        #expect(indices == Array(0..<indices.count))
        #expect(indices.count >= 2994)
        #expect(talk.concealed() == 0)
        #expect(talk.buffer.lossRatio == 0)
        // 20 ms of packet, 20 ms of link; then at first up to 40 ms of waiting, and later a fourth of it, or little more.
        check(talk.delays(), 50...91)
        check(talk.delays(from: 2000), 50...70)
        #expect(talk.spliced.longer == 0)
    }

    /// What is lost is recovered from the packet behind it, or else made up; and nothing of what came is missed.
    @Test(arguments: [0.02, 0.1, 0.25], 1...3 as ClosedRange<UInt64>)
    func losses(share: Double, seed: UInt64) {
        var conditions = Self.wired
        conditions.loss = .random(share)
        var talk = TalkSimulation(conditions, seed: seed)
        talk.run(.seconds(120))
        let first = 500
        let indices = talk.played.compactMap(\.index)
        let arrived = talk.arrivals.map(\.index)
        #expect(indices == Array(arrived.prefix(indices.count)))
        #expect(arrived.count - indices.count < 5)
        let lossRatio = talk.buffer.lossRatio
        #expect(abs(lossRatio - share) < 0.05 + share / 4, "\(lossRatio)")
        // Of those lost, the ones whose successor came.
        let present = Set(arrived)
        let lost = (first..<indices.last!).filter { !present.contains($0) }
        let recoverable = lost.count { present.contains($0 + 1) }
        let recovered = talk.played.count { played in
            if case .recovery(let bytes, 960) = played.step {
                TalkSimulation.Played.index(bytes) > first
            } else {
                false
            }
        }
        #expect(recovered <= recoverable + 1)
        #expect(recovered > recoverable * 9 / 10, "\(recovered) of \(recoverable)")
        // Nothing is longer or shorter than it was spoken, but for a few packets at the end.
        let begun = talk.played[0].at
        let time = (talk.now - begun).milliseconds - Double(indices.last! + 1 - indices[0]) * 20
        #expect(abs(time) < 60, "\(time)")
        check(talk.delays(from: first), 60...110)
    }

    @Test(arguments: 1...3 as ClosedRange<UInt64>)
    func burstsOfLosses(seed: UInt64) {
        var conditions = Self.wired
        conditions.loss = .bursts(good: 200, bad: 12)
        var talk = TalkSimulation(conditions, seed: seed)
        talk.run(.seconds(120))
        let indices = talk.played.compactMap(\.index)
        #expect(indices == Array(talk.arrivals.map(\.index).prefix(indices.count)))
        // After 120 ms nothing is made up any more.
        var inARow = 0
        for played in talk.played {
            if case .concealment(let samples) = played.step { inARow += samples } else { inARow = 0 }
            #expect(inARow <= 5760)
        }
        check(talk.delays(from: 500), 60...110)
    }

    /// Compared with waiting equally long for all, of which the best time is known afterwards.
    @Test(
        arguments: [
            (10, false), (30, false), (60, false), (100, false), (30, true), (60, true), (100, true), (200, true),
        ],
        1...2 as ClosedRange<UInt64>
    )
    func jitter(of jitter: (milliseconds: Int, reorders: Bool), seed: UInt64) {
        var conditions = Self.wired
        (conditions.jitter, conditions.reorders) = (.milliseconds(jitter.milliseconds), jitter.reorders)
        var talk = TalkSimulation(conditions, seed: seed)
        talk.run(.seconds(180))
        let first = 3000
        let best = talk.fixedDelay(for: 0.98, from: first)
        let delays = talk.delays(from: first)
        let mean = delays.reduce(0, +) / Double(delays.count)
        let sent = Double(talk.sent - first)
        let missed = 1 - Double(delays.count) / sent
        #expect(missed < 0.04, "\(missed)")
        let concealed = Double(talk.concealed(since: talk.capturedAt(first))) / 960 / sent
        #expect(concealed < 0.04, "\(concealed)")
        #expect(mean < best + 40, "\(mean), \(best)")
        let indices = talk.played.compactMap(\.index)
        #expect(zip(indices, indices.dropFirst()).allSatisfy { $0 < $1 })
    }

    /// A link that stands still now and then, and carries what has waited at once.
    @Test func standstills() {
        var talk = TalkSimulation(Self.wired)
        for _ in 0..<20 {
            talk.run(.seconds(10))
            talk.link.conditions.delay = .milliseconds(320)
            talk.run(.milliseconds(20))
            talk.link.conditions.delay = .milliseconds(20)
        }
        talk.run(.seconds(30))
        let indices = talk.played.compactMap(\.index)
        #expect(zip(indices, indices.dropFirst()).allSatisfy { $0 < $1 })
        #expect(talk.delays().max()! < 400)
        // It is the rare packet that is late, and not waited for.
        #expect(talk.delays(from: talk.sent - 800).max()! <= 110)
        // And a few are still on their way.
        #expect(indices.count > talk.sent - 20 * 16 - 10)
    }

    /// Neither a clock that is fast nor one that is slow is heard within an hour.
    @Test(arguments: [-200, -30, 30, 200])
    func clocksThatDrift(skew: Double) {
        var conditions = Self.wired
        conditions.jitter = .milliseconds(4)
        var talk = TalkSimulation(conditions)
        talk.skew = skew
        talk.run(.seconds(3600))
        let indices = talk.played.compactMap(\.index)
        #expect(indices == Array(0..<indices.count))
        #expect(talk.concealed() == 0)
        check(talk.delays(), 42...95)
        let net = Double(talk.spliced.shorter - talk.spliced.longer) / 48_000
        #expect(abs(net - skew * 3600 / 1e6) < 0.04, "\(net)")
        let all = Double(talk.spliced.shorter + talk.spliced.longer) / 48_000
        #expect(all < abs(skew * 3600 / 1e6) + 0.1, "nothing is spliced for nothing: \(all)")
    }

    /// A talker that is quiet sends next to nothing, and is heard from its first word on.
    @Test(arguments: [0, 40], [0.0, 0.1])
    func pauses(jitter: Int, loss: Double) {
        var conditions = Self.wired
        (conditions.jitter, conditions.loss) = (.milliseconds(jitter), .random(loss))
        var talk = TalkSimulation(conditions, seed: 5)
        // Two seconds of speech, and as many of quiet, in which a packet of noise comes each 400 ms.
        talk.deed = { index in
            index % 200 < 100 ? .speaks : index % 20 == 0 ? .isQuiet : .sendsNothing
        }
        talk.run(.seconds(120))
        let indices = talk.played.compactMap(\.index).filter { $0 >= 0 }
        let spoken = talk.arrivals.map(\.index).filter { $0 % 200 < 100 }
        let missed = Set(spoken).subtracting(indices).filter { $0 < talk.sent - 10 }
        #expect(missed.count <= spoken.count / 50, "\(missed.sorted())")
        let isSilent = talk.played.contains { $0.step == .silence }
        #expect(!isSilent || loss > 0, "the noise goes on")
        #expect(talk.delays().max()! < 150 + Double(jitter), "\(talk.delays().max()!)")
        #expect(talk.buffer.concealedRatio < 0.06 + loss)
    }

    /// A microphone that is closed sends nothing; its clock may go on or stand still meanwhile.
    @Test(arguments: [true, false], [12, 60, 700])
    func aMicrophoneIsClosedAndOpened(clockStands: Bool, length: Int) {
        var talk = TalkSimulation(Self.wired)
        talk.run(.seconds(10))
        for _ in 0..<5 {
            let (from, before) = (talk.sent, talk.played.count)
            talk.deed = { $0 < from + length ? .sendsNothing : .speaks }
            talk.run(.milliseconds(length * 20))
            if clockStands { talk.offset.timestamp &-= UInt32(length * 960) }
            talk.run(.seconds(10))
            let heard = talk.played.dropFirst(before).compactMap(\.index).filter { $0 >= from + length }
            #expect(heard.first == from + length)
            #expect(zip(heard, heard.dropFirst()).allSatisfy { $1 == $0 + 1 })
            let first = talk.delays(from: from + length).first!
            #expect(45...110 ~= first, "\(first)")
        }
        #expect(talk.played.contains { $0.step == .silence })
    }

    /// A source that begins anew has other numbers and another clock.
    @Test(
        arguments: [(1, 1), (0x8000_0000, 0), (0x7FFF_FFFF, 0x8000), (480_001, 3), (UInt32(bitPattern: -96_000), 0)]
            as [(UInt32, UInt16)]
    )
    func restarts(timestamp: UInt32, number: UInt16) {
        var talk = TalkSimulation(Self.wired)
        for _ in 0..<4 {
            talk.run(.seconds(5))
            let from = talk.sent
            talk.offset.timestamp &+= timestamp
            talk.offset.number &+= number
            talk.run(.seconds(5))
            let heard = Set(talk.played.compactMap(\.index))
            let missed = (from..<talk.sent - 5).filter { !heard.contains($0) }
            #expect(missed.isEmpty, "\(missed)")
            #expect(talk.delays(from: from + 250 - 50).allSatisfy { $0 < 110 })
        }
    }

    private func check(_ delays: [Double], _ range: ClosedRange<Double>, location: SourceLocation = #_sourceLocation) {
        #expect(range.contains(delays.min() ?? 0), sourceLocation: location)
        #expect(range.contains(delays.max() ?? 0), sourceLocation: location)
    }

    // MARK: - Other packets

    private func packet(_ number: Int, at time: Int, _ now: Instant, _ bytes: [UInt8]) -> ReceivedSound {
        ReceivedSound(
            sequenceNumber: UInt16(truncatingIfNeeded: number),
            timestamp: UInt32(truncatingIfNeeded: time),
            arrivedAt: now,
            bytes: bytes
        )
    }

    /// Plays for 10 ms; returns the steps.
    private func play(_ buffer: inout JitterBuffer, _ ahead: inout Int, at now: Instant) -> [JitterBuffer.Step] {
        var steps: [JitterBuffer.Step] = []
        while ahead < 480 {
            let step = buffer.next(at: now)
            steps.append(step)
            switch step {
            case .packet(_, let samples, _), .recovery(_, let samples), .concealment(let samples):
                expect(120...5760 ~= samples && samples % 120 == 0)
                ahead += samples
            case .silence:
                ahead = 0
                return steps
            }
        }
        ahead -= 480
        return steps
    }

    @Test(
        arguments: [(0x80, 120), (0x88, 240), (0x90, 480), (0x10, 1920), (0x18, 2880), (0x19, 5760)] as [(UInt8, Int)]
    )
    func packetsOfAllDurations(first: UInt8, samples: Int) {
        var buffer = JitterBuffer()
        var (now, ahead, sent) = (Instant.seconds(9), 0, 0)
        var played: [Int] = []
        for tick in 0..<3000 {
            now += .milliseconds(10)
            while (sent + 1) * samples <= tick * 480 {
                let bytes = [first, UInt8(sent >> 8 & 0xFF), UInt8(sent & 0xFF)]
                buffer.receive(packet(sent, at: sent * samples, now, bytes))
                sent += 1
            }
            for step in play(&buffer, &ahead, at: now) {
                switch step {
                case .packet(let bytes, _, _): played.append(Int(bytes[1]) << 8 | Int(bytes[2]))
                case .silence: #expect(played.isEmpty)
                default: Issue.record("\(step)")
                }
            }
        }
        #expect(played == Array(0..<played.count))
        #expect(played.count * samples > 3000 * 480 - 5760 * 2)
    }

    /// Packets that are longer than the time between them, or shorter, are no more than is played of them.
    @Test(arguments: [(0x19, 960), (0x80, 960), (0x78, 1), (0x19, 1), (0x78, 777)] as [(UInt8, Int)])
    func wrongDurations(first: UInt8, step: Int) {
        var buffer = JitterBuffer()
        var (now, ahead) = (Instant.seconds(9), 0)
        var packets = 0
        for tick in 0..<1000 {
            now += .milliseconds(10)
            if tick % 2 == 0 { buffer.receive(packet(tick / 2, at: tick / 2 * step, now, [first, 1, 2])) }
            let steps = play(&buffer, &ahead, at: now)
            #expect(steps.count <= 9)
            packets += steps.count { if case .packet = $0 { true } else { false } }
        }
        #expect(packets > 0)
        #expect(ahead < 5760)
    }

    /// Thousands a second, of whatever time: no more waits than the buffer holds, and each is looked at once.
    /// Invariant: permitted.
    @Test(arguments: [0, 1, 120, 960, 5760, 400_000, -960, 0x4000_0000])
    func floods(step: Int) {
        var buffer = JitterBuffer()
        var (now, ahead, number) = (Instant.seconds(9), 0, 0)
        for _ in 0..<200 {
            now += .milliseconds(10)
            for _ in 0..<50 {
                buffer.receive(packet(number, at: number * step, now, [0x78, 1, 2]))
                number += 1
            }
            expect(play(&buffer, &ahead, at: now).count <= 5)
        }
        // Nothing more comes.
        var packets = 0
        for _ in 0..<2000 {
            now += .milliseconds(10)
            packets += play(&buffer, &ahead, at: now).count { if case .packet = $0 { true } else { false } }
        }
        #expect(packets <= 256)
        #expect(buffer.nextDeadline == nil)
    }

    @Test(arguments: 1...30 as ClosedRange<UInt64>)
    func anything(seed: UInt64) {
        var random = SplitMix(seed: seed)
        var buffer = JitterBuffer()
        var (now, ahead, number, time) = (Instant.seconds(9), 0, 0, 0)
        for _ in 0..<5000 {
            if Bool.random(using: &random) { now += .milliseconds(Double.random(in: 0...30, using: &random)) }
            switch Int.random(in: 0..<20, using: &random) {
            case 0: time += Int.random(in: -2_000_000...2_000_000, using: &random)
            case 1: time = Int(UInt32.random(in: 0 ... .max, using: &random))
            case 2: number = Int.random(in: 0...65535, using: &random)
            case 3: time -= 960 * Int.random(in: 0...5, using: &random)
            case 4: now += .seconds(Double.random(in: 0...3, using: &random))
            default: break
            }
            (number, time) = (number + 1, time + 960)
            let size = Int.random(in: 1...4, using: &random)
            let bytes = (0..<size).map { _ in UInt8.random(in: 0...255, using: &random) }
            buffer.receive(packet(number, at: time, now, bytes))
            if Bool.random(using: &random) { expect(play(&buffer, &ahead, at: now).count <= 40) }
            if let deadline = buffer.nextDeadline, deadline != .start {
                expect(deadline <= now + .seconds(12))
                var copy = buffer
                expect(copy.next(at: deadline) != .silence)
            }
        }
    }
}
