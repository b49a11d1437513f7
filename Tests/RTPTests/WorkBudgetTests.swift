import TestSupport
import Testing
import Time

@testable import RTP

/// What a peer sends costs in proportion to its bytes, and those are limited.
@Suite struct WorkBudgetTests {
    /// A run of 8191 packets takes two bytes, and 48 such reports fit into a datagram.
    @Test func aRunOfThousandsMakesNoList() throws {
        let report: [UInt8] = [0x8F, 205, 0, 5, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0x1F, 0xFF, 0, 0, 0, 0, 0x1F, 0xFF, 0, 0]
        let packets = try RTCPPacket.parse([[UInt8]](repeating: report, count: 48).flatMap { $0 })
        #expect(packets.count == 48)
        #expect(packets.reduce(0) { $0 + $1.elements } == 0)
    }

    /// A loss takes as little as two bits, and nothing else less than a byte.
    @Test func noListIsLongerThanItsPacket() throws {
        var random = SplitMix(seed: 11)
        let kinds: [(UInt8, UInt8)] = [
            (0x9F, 200), (0x9F, 201), (0x9F, 202), (0x9F, 203), (0x81, 205), (0x8F, 205), (0x84, 206), (0x8F, 206),
        ]
        var parsed = 0
        for round in 0..<4000 {
            let (first, kind) = kinds[round % kinds.count]
            let length = 4 * Int.random(in: 2...290, using: &random)
            // The shortest elements that there are: zeros and ones.
            let most: UInt8 = round % 3 == 0 ? 0 : round % 3 == 1 ? 1 : 255
            var body = (0..<length).map { _ in UInt8.random(in: 0...most, using: &random) }
            if kind == 205, first == 0x8F, length > 16 { body[10] = UInt8.random(in: 0...32, using: &random) }
            let words = length / 4
            let datagram = [first, kind, UInt8(words >> 8), UInt8(words & 0xFF)] + body
            guard let packets = try? RTCPPacket.parse(datagram) else { continue }
            parsed += 1
            #expect(packets.reduce(0) { $0 + $1.elements } <= 17 * datagram.count / 4)
        }
        #expect(parsed > 1000)
    }

    @Test(arguments: [(false, 1_500_000), (true, 12_500_000)])
    func aFloodIsReadUpToTheRateAndNoFurther(sendsVideo: Bool, bytesPerSecond: Int) {
        var budget = WorkBudget(sendsVideo: sendsVideo)
        var now = Instant.seconds(100)
        var read = 0
        for _ in 0..<100_000 {
            now += .microseconds(50)
            if budget.take(datagramOf: 500, at: now) { read += 500 + WorkBudget.overhead }
        }
        let burst = sendsVideo ? 8_000_000 : 1_500_000
        #expect(read <= 5 * bytesPerSecond + burst)
        #expect(read >= 5 * bytesPerSecond + burst - 2000)
        // A peer that has been silent for a while is read again.
        now += .seconds(1)
        expect(budget.take(datagramOf: 500, at: now))
    }

    /// 400 reports a second, and 64 that come at once when a path is back: more than any receiver that is known sends.
    @Test func honestFeedbackIsAlwaysRead() {
        var budget = WorkBudget(sendsVideo: false)
        var now = Instant.seconds(100)
        for round in 0..<20_000 {
            now += .microseconds(2500)
            for _ in 0..<(round % 400 == 0 ? 64 : 1) { expect(budget.take(datagramOf: 200, at: now)) }
        }
    }

    /// 40 Mb/s of pictures, with keyframes of 2 MB.
    @Test func honestPicturesAreAlwaysRead() {
        var budget = WorkBudget(sendsVideo: true)
        var now = Instant.seconds(100)
        for frame in 0..<900 {
            now += .milliseconds(33)
            for _ in 0..<(frame % 90 == 0 ? 1700 : 120) { expect(budget.take(datagramOf: 1200, at: now)) }
        }
    }
}

extension RTCPPacket {
    /// How many elements its lists have, which all are gone through.
    fileprivate var elements: Int {
        switch self {
        case .senderReport(let report): report.reports.count
        case .receiverReport(let report): report.reports.count
        case .goodbye(let ssrcs): ssrcs.count
        case .fullIntra(let request): request.commands.count
        case .genericNACK(let nack): nack.lost.count
        case .transportFeedback(let feedback): feedback.arrivals.count
        case .pictureLoss, .maximumBitrate: 0
        }
    }
}
