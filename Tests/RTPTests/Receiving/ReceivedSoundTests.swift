import Media
import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct ReceivedSoundTests {
    private static let start = Instant.seconds(100)

    /// Video in the first description, sound in the second.
    private func receiver(transportNumber: UInt8? = nil) -> IncomingBundle {
        var random = SplitMix(seed: 2)
        return IncomingBundle(
            [
                .init(
                    mid: "v",
                    codecs: [96: .video(.vp8)],
                    retransmissions: [97: 96],
                    extensions: HeaderExtensions(mid: 1, transportNumber: transportNumber)
                ),
                .init(
                    mid: "s",
                    codecs: [111: .opus],
                    retransmissions: [:],
                    extensions: HeaderExtensions(mid: 1, soundLevel: 3)
                ),
            ],
            using: &random
        )
    }

    private func packet(
        _ number: UInt16,
        _ payload: [UInt8] = [0x78, 1],
        type: UInt8 = 111,
        ssrc: UInt32 = 5,
        extensions: [UInt8] = []
    ) -> [UInt8] {
        var bytes: [UInt8] = []
        let timestamp = UInt32(number) &* 960
        RTPHeader(marker: false, payloadType: type, sequenceNumber: number, timestamp: timestamp, ssrc: ssrc)
            .write(to: &bytes)
        if !extensions.isEmpty {
            bytes[0] |= 0x10
            bytes += [0xBE, 0xDE, 0, UInt8((extensions.count + 3) / 4)] + extensions
            bytes += Array(repeating: 0, count: (4 - extensions.count % 4) % 4)
        }
        return bytes + payload
    }

    /// Each packet is handed on once for each time that it comes, when it comes; nothing is asked for again, and the reports tell
    /// what was lost.
    @Test(arguments: 1...4 as ClosedRange<UInt64>)
    func whatComesIsHandedOnAtOnce(seed: UInt64) throws {
        var link = VirtualLink(
            VirtualLink.Conditions(
                rate: 10_000_000,
                delay: .milliseconds(15),
                jitter: .milliseconds(70),
                reorders: true,
                loss: .random(0.1),
                duplication: 0.05
            ),
            seed: seed
        )
        var receiver = receiver()
        var onWay: [(at: Instant, number: Int)] = []
        var blocks: [ReportBlock] = []
        var expected: [ReceivedSound] = []
        var received: [ReceivedSound] = []
        var now = Self.start
        func payload(_ number: Int) -> [UInt8] { [0x78, UInt8(number % 256), UInt8(number / 256)] }
        for step in 0..<21_500 {
            now += .milliseconds(1)
            // From before a wrap of the numbers and of the timestamps.
            if step % 20 == 0, step < 19_000 {
                for at in link.send(80, at: now) { onWay.append((at, step / 20)) }
            }
            onWay.sort { $0.at < $1.at }
            while let next = onWay.first, next.at <= now {
                onWay.removeFirst()
                let number = 65_000 &+ UInt16(next.number)
                let bytes = packet(number, payload(next.number))
                receiver.receive(bytes, now: now)
                expected.append(
                    ReceivedSound(
                        sequenceNumber: number,
                        timestamp: UInt32(number) &* 960,
                        arrivedAt: now,
                        bytes: payload(next.number)
                    )
                )
                received += receiver.takeSound()
            }
            var bytes: [UInt8] = []
            while receiver.writeFeedback(as: 1, named: "n", roundTripTime: nil, at: now, to: &bytes) {
                for packet in try RTCPPacket.parse(bytes) {
                    switch packet {
                    case .receiverReport(let report): blocks += report.reports
                    default: Issue.record("\(packet) is not due")
                    }
                }
                bytes = []
            }
            if let deadline = receiver.nextDeadline { expect(deadline > now) }
        }
        #expect(received == expected)
        #expect(Set(received.map(\.sequenceNumber)).count > 800)
        let last = try #require(blocks.last)
        let losses = blocks.map { Double($0.fractionLost) / 256 }.reduce(0, +) / Double(blocks.count)
        #expect(abs(losses - 0.07) < 0.05, "of those lost, those that came twice are taken: \(losses)")
        #expect(last.highestSequenceNumber >> 16 == 1)
        let first = try #require(received.first).sequenceNumber
        #expect(Int(last.cumulativeLost) == Int(last.highestSequenceNumber) - Int(first) + 1 - received.count)
        #expect(blocks.allSatisfy { $0.ssrc == 5 })
        // Evenly distributed over 70 ms, in ticks of 48 kHz: a third of that between two packets.
        #expect(abs(Double(last.jitter) / 48 - 70.0 / 3) < 15, "\(last.jitter)")
    }

    @Test func eachKindGoesItsWay() {
        var receiver = receiver()
        let now = Self.start
        // By payload type.
        receiver.receive(packet(1), now: now)
        receiver.receive(packet(1, [0x10, 0, 0, 0], type: 96, ssrc: 6), now: now)
        expect(receiver.takeSound().map(\.sequenceNumber) == [1])
        // Without a marker, the frame ends with the next one's first packet.
        receiver.receive(packet(2, [0x10, 1, 0, 0], type: 96, ssrc: 6), now: now)
        expect(receiver.takeFrames().count == 1)
        expect(receiver.takeSound().isEmpty)
        // By the name of the description; one that does not fit the type is nobody's.
        receiver.receive(packet(2, extensions: [0x10] + "s".utf8), now: now)
        receiver.receive(packet(3, extensions: [0x10] + "v".utf8), now: now)
        receiver.receive(packet(4, extensions: [0x10] + "x".utf8), now: now)
        expect(receiver.takeSound().map(\.sequenceNumber) == [2])
    }

    /// RFC 6464: a bit tells of a voice, seven how loud it is.
    @Test(
        arguments: [([0x30, 0x85], 5), ([0x30, 0x7F], 127), ([0x31, 0x05, 0], nil), ([0x20, 0x05], nil)]
            as [([UInt8], UInt8?)]
    )
    func levels(extensions: [UInt8], level: UInt8?) {
        var receiver = receiver()
        receiver.receive(packet(1, extensions: extensions), now: Self.start)
        expect(receiver.takeSound().map(\.level) == [level])
    }

    /// Of two sources that send at once, the first is heard, until it is silent for a second or says goodbye.
    @Test func anotherSourceTakesOverFromOneThatIsSilent() {
        var receiver = receiver()
        var now = Self.start
        for number in 1...100 as ClosedRange<UInt16> {
            now += .milliseconds(20)
            receiver.receive(packet(number), now: now)
            receiver.receive(packet(number &+ 7000, ssrc: 9), now: now)
        }
        expect(receiver.takeSound().map(\.sequenceNumber) == Array(1...100))
        now += .milliseconds(1000)
        receiver.receive(packet(8000, ssrc: 9), now: now)
        expect(receiver.takeSound().isEmpty)
        now += .milliseconds(1)
        receiver.receive(packet(8001, ssrc: 9), now: now)
        expect(receiver.takeSound().map(\.sequenceNumber) == [8001])
        receiver.receive(packet(101), now: now)
        expect(receiver.takeSound().isEmpty)
        receiver.end([9])
        receiver.receive(packet(102), now: now)
        expect(receiver.takeSound().map(\.sequenceNumber) == [102])
        expect(receiver.hasReceived)
    }

    /// Sound has no numbers of its own among all packets; those of the picture are told as ever.
    @Test func arrivalsOfThePictureAreTold() throws {
        var receiver = receiver(transportNumber: 2)
        let now = Self.start
        receiver.receive(packet(1), now: now)
        receiver.receive(packet(1, [0x10, 0, 0, 0], type: 96, ssrc: 6, extensions: [0x21, 0, 7]), now: now)
        var bytes: [UInt8] = []
        expect(
            receiver.writeFeedback(as: 1, named: "n", roundTripTime: nil, at: now + .milliseconds(60), to: &bytes)
        )
        let packets = try RTCPPacket.parse(bytes)
        let numbers = packets.compactMap {
            if case .transportFeedback(let feedback) = $0 { feedback.first } else { nil }
        }
        #expect(numbers == [7])
        let blocks = packets.compactMap { if case .receiverReport(let report) = $0 { report.reports } else { nil } }
        #expect(blocks.map { $0.map(\.ssrc) } == [[6, 5]])
    }

    /// Packets that are cut off, of nothing but padding, or random.
    @Test func strangePacketsDoNoHarm() {
        var receiver = receiver()
        var random = SplitMix(seed: 4)
        let now = Self.start
        let whole = packet(1, extensions: [0x30, 0x05])
        for count in 0..<whole.count { receiver.receive(Array(whole.prefix(count)), now: now) }
        // Those that are cut off behind the header have a part of their payload, or none.
        expect(receiver.takeSound().map(\.bytes) == [[0x78]])
        var padding = packet(2, [0, 0, 3])
        padding[0] |= 0x20
        receiver.receive(padding, now: now)
        expect(receiver.takeSound().isEmpty)
        for _ in 0..<20_000 {
            var bytes = (0..<Int.random(in: 0...60, using: &random)).map { _ in
                UInt8.random(in: 0...255, using: &random)
            }
            if bytes.count > 1 { (bytes[0], bytes[1]) = (0x80 | bytes[0] & 0x3F, bytes[1] & 0x80 | 111) }
            receiver.receive(bytes, now: now)
        }
        for packet in receiver.takeSound() { expect(!packet.bytes.isEmpty && packet.level ?? 0 < 128) }
    }
}
