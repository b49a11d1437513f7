import Testing

@testable import RTP

@Suite struct PacketTrainsTests {
    /// Sends a train of packets of 1000 bytes, a millisecond apart, and the first packet of the next one.
    ///
    /// - Parameters:
    ///   - interval: milliseconds from arrival to arrival.
    ///   - isLost: by the place in the train.
    private func measure(
        _ count: Int,
        interval: Double,
        isLost: (Int) -> Bool = { _ in false }
    ) -> PacketTrains.Measurement? {
        var trains = PacketTrains()
        for index in 0..<count where !isLost(index) {
            let arrival = Arrival(sentAt: Double(index), arrivedAt: 40 + Double(index) * interval, size: 1000)
            #expect(trains.add(arrival, ofTrainFrom: 100) == nil)
        }
        let next = Arrival(sentAt: 1000, arrivedAt: 1040, size: 1000)
        return trains.add(next, ofTrainFrom: 100 + UInt64(count))
    }

    @Test func aSlowLinkIsAsFastAsATrainArrives() throws {
        let found = try #require(measure(10, interval: 2))
        #expect(found.sent == 8_000_000 && found.arrived == 4_000_000)
        #expect(found.delays == (40, 49))
        #expect(found.isSaturated(base: 40))
    }

    @Test func aFastLinkCarriesAtLeastWhatWasSent() throws {
        let found = try #require(measure(10, interval: 1))
        #expect(found.sent == found.arrived)
        #expect(!found.isSaturated(base: 40))
        // It was filled before.
        #expect(found.isSaturated(base: 20))
    }

    @Test func whatSaysTooLittleIsNoMeasurement() {
        #expect(measure(4, interval: 4) == nil, "few packets")
        #expect(measure(8, interval: 1) == nil, "little time")
        #expect(measure(20, interval: 2) { $0 % 3 == 0 } == nil, "many are lost")
        #expect(measure(20, interval: 2) { $0 == 7 } != nil)
        // Held up, and let go together.
        #expect(measure(20, interval: 0.4) == nil)
    }

    @Test func trainsOfAnotherLinkAreForgotten() {
        var trains = PacketTrains()
        func add(_ index: UInt64, ofTrainFrom start: UInt64) -> PacketTrains.Measurement? {
            let arrival = Arrival(sentAt: Double(index), arrivedAt: 40 + 2 * Double(index), size: 1000)
            return trains.add(arrival, ofTrainFrom: start)
        }
        for index in UInt64(0)..<10 { #expect(add(index, ofTrainFrom: 0) == nil) }
        #expect(trains.measurement != nil)
        trains.forget(before: 10)
        #expect(trains.measurement == nil)
        for index in UInt64(10)..<20 { #expect(add(index, ofTrainFrom: 0) == nil) }
        #expect(trains.measurement == nil, "it began before")
        for index in UInt64(20)..<30 { #expect(add(index, ofTrainFrom: 20) == nil) }
        #expect(trains.measurement != nil)
    }
}
