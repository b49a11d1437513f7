import TestSupport
import Testing
import Time

@testable import RTP

@Suite struct SentPacketsTests {
    /// Numbers wrap after 65536 packets. The last 4096 can be named, and no others.
    @Test(arguments: [1, 2, 4095, 4096, 4097, 65_535, 65_536, 65_537, 140_000])
    func theLastOnesCanBeNamed(count: Int) throws {
        let packets = sent(count)
        for distance in [1, 2, 4095, 4096, 4097, 32_768, 65_535, 65_536] {
            let number = UInt16(truncatingIfNeeded: count - distance)
            let found = packets[number]
            // 65536 back is the number of the next packet, which was not sent.
            if distance <= min(count, SentPackets.capacity) {
                #expect(found?.number == UInt64(count - distance))
            } else {
                #expect(found == nil)
            }
        }
        #expect(packets.inFlight == min(count, SentPackets.capacity) * 100)
    }

    @Test func nothingCanBeNamedBeforeTheFirst() {
        let packets = SentPackets()
        for number in [0, 1, .max] as [UInt16] { #expect(packets[number] == nil) }
    }

    @Test func eachArrivesOnce() throws {
        var packets = sent(10)
        let packet = try #require(packets[9])
        expect(packets.noteArrival(of: packet))
        expect(!packets.noteArrival(of: packet))
        #expect(packets.inFlight == 900)
    }

    /// The three before the newest, and those of the last 10 ms, may still come.
    @Test func whatWasOvertakenIsGivenUpOnce() throws {
        var packets = sent(30)
        let newest = try #require(packets[20])
        _ = packets.noteArrival(of: newest)
        var lost: [UInt64] = []
        packets.giveUpOvertaken { lost.append($0.number) }
        #expect(lost == Array(0...10))
        packets.giveUpOvertaken { lost.append($0.number) }
        #expect(lost.count == 11)
        #expect(packets.inFlight == 18 * 100)
        // It arrives all the same.
        let late = try #require(packets[4])
        #expect(late.fate == .lost)
        expect(packets.noteArrival(of: late))
        #expect(packets.inFlight == 18 * 100)
    }

    /// Packets of 100 bytes, one each millisecond.
    private func sent(_ count: Int) -> SentPackets {
        var packets = SentPackets()
        for number in 0..<count { packets.add(size: 100, train: 0, at: .milliseconds(Double(number))) }
        return packets
    }
}
