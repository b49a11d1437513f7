import Pairing
import Sodium
import TestSupport
import Testing
import Time

@testable import Discovery

@Suite struct DeviceListTests {
    private func sighting(_ number: UInt8, _ host: String, _ name: String = "desk", of key: [UInt8]? = nil) -> Sighting
    {
        Sighting(announcement(number, of: key), from: host, name: name, endpoints: [Endpoint(host: host, port: 4000)])
    }

    private func news(_ list: inout DeviceList) -> [DeviceList.News] {
        var news: [DeviceList.News] = []
        while let one = list.nextNews() { news.append(one) }
        return news
    }

    /// One device by two drivers is one; two devices of one name are two.
    @Test func devicesAreEqualByIdentity() throws {
        var list = DeviceList()
        list.note(.seen(sighting(1, "fe80::1")), by: .dnssd, at: .start)
        list.note(.seen(sighting(1, "10.0.0.1")), by: .beacon, at: .start + .seconds(1))
        list.note(.seen(sighting(2, "10.0.0.2")), by: .beacon, at: .start + .seconds(2))
        let devices = list.devices()
        #expect(devices.map(\.name) == ["desk", "desk"])
        let first = try #require(devices.first)
        #expect(first.endpoints.map(\.endpoint.host) == ["10.0.0.1", "fe80::1"])
        #expect(first.endpoints.map(\.driver) == [.beacon, .dnssd] && first.since == .start)
        #expect(news(&list).count == 2)
        list.note(.lost([UInt8](repeating: 1, count: 8), source: "fe80::1"), by: .dnssd, at: .start)
        #expect(news(&list).map { if case .changed = $0 { true } else { false } } == [true])
        list.note(.lost([UInt8](repeating: 1, count: 8), source: "10.0.0.1"), by: .beacon, at: .start)
        #expect(news(&list) == [.lost(.instance([UInt8](repeating: 1, count: 8)))])
    }

    /// A pair is recognised whatever it calls itself, also when it starts again, and when it is paired while it is there.
    @Test func pairsAreRecognised() throws {
        var list = DeviceList()
        let key = Randomness.bytes(32), device = PairID(secret: [1])
        let paired = sighting(1, "10.0.0.1", "", of: key)
        list.note(.seen(paired), by: .beacon, at: .start)
        #expect(list.devices().map(\.identity) == [.instance([UInt8](repeating: 1, count: 8))])
        _ = news(&list)
        list.set([DeviceList.Known(id: device, resolvingKey: key, name: "Ann's")])
        #expect(list.devices().map(\.name) == ["Ann's"] && list.devices().map(\.identity) == [.pair(device)])
        #expect(news(&list).count == 2, "the stranger is lost, and the pair found")
        // The former start has not said goodbye.
        list.note(.seen(sighting(2, "10.0.0.9", "boss", of: key)), by: .beacon, at: .start + .seconds(5))
        let present = try #require(list.devices().first)
        #expect(list.devices().count == 1 && present.since == .start)
        #expect(present.endpoints.map(\.endpoint.host) == ["10.0.0.9", "10.0.0.1"], "the newest start comes first")
        list.note(.lost([UInt8](repeating: 2, count: 8), source: "10.0.0.9"), by: .beacon, at: .start)
        #expect(list.devices().first?.endpoints.map(\.endpoint.host) == ["10.0.0.1"])
        // A stranger that copies the announcement of a pair adds a place, and says nothing for it; under another instance it is nobody.
        let copied = Sighting(
            Announcement(
                instance: [UInt8](repeating: 1, count: 8),
                state: .paused,
                resolvable: paired.announcement.resolvable
            ),
            from: "10.0.0.66",
            name: "boss",
            endpoints: [Endpoint(host: "10.0.0.66", port: 1)]
        )
        list.note(.seen(copied), by: .beacon, at: .start + .seconds(9))
        let doubled = try #require(list.devices().first)
        #expect(
            list.devices().count == 1 && doubled.state == .idle && doubled.name == "Ann's"
                && doubled.endpoints.count == 2
        )
        let foreign = Sighting(
            Announcement(
                instance: [UInt8](repeating: 3, count: 8),
                state: .live,
                resolvable: paired.announcement.resolvable
            ),
            from: "10.0.0.66",
            name: "boss",
            endpoints: []
        )
        list.note(.seen(foreign), by: .beacon, at: .start + .seconds(9))
        #expect(Set(list.devices().map(\.name)) == ["Ann's", "boss"])
        list.note(.lost([UInt8](repeating: 3, count: 8), source: "10.0.0.66"), by: .beacon, at: .start)
        list.set([])
        #expect(list.devices().map(\.identity) == [.instance([UInt8](repeating: 1, count: 8))])
    }

    @Test func namesAreHarmless() {
        var list = DeviceList()
        list.note(.seen(sighting(1, "10.0.0.1", "\u{1B}[2J\nevil\u{202E}")), by: .beacon, at: .start)
        list.note(.seen(sighting(2, "10.0.0.2", String(repeating: "x", count: 10_000))), by: .dnssd, at: .start)
        list.note(.seen(sighting(3, "10.0.0.3", "")), by: .dnssd, at: .start)
        #expect(Set(list.devices().map(\.name)) == ["[2J evil", String(repeating: "x", count: 60), ""])
    }

    /// Whatever the drivers say, the news add up to the list, and that is what a naive one holds.
    @Test func newsAddUp() {
        for seed in 0..<200 {
            var random = SplitMix(seed: UInt64(seed))
            var list = DeviceList()
            let keys = (0..<3).map { UInt8($0) }.map { [UInt8](repeating: $0, count: 32) }
            let pairs = keys.map { DeviceList.Known(id: PairID(secret: $0), resolvingKey: $0, name: "pair \($0[0])") }
            var known: [DeviceList.Known] = []
            var naive: [String: (Sighting, Driver)] = [:]
            var told: [DeviceList.Identity: DeviceList.Device] = [:]
            var now = Instant.start
            for _ in 0..<150 {
                now += .seconds(1)
                let number = UInt8.random(in: 1...6, using: &random),
                    driver = Driver.allCases.randomElement(using: &random)!
                switch Int.random(in: 0..<10, using: &random) {
                case 0..<6:
                    // Three of the devices are pairs, each with several starts.
                    let key = number <= 4 ? keys[Int(number) % 3] : nil
                    let host = "10.0.0.\(UInt8.random(in: 1...3, using: &random))"
                    let sighting = sighting(number, host, of: key)
                    naive["\(driver) \(number) \(host)"] = (sighting, driver)
                    list.note(.seen(sighting), by: driver, at: now)
                case 6..<8:
                    let host = "10.0.0.\(UInt8.random(in: 1...3, using: &random))"
                    naive["\(driver) \(number) \(host)"] = nil
                    list.note(.lost([UInt8](repeating: number, count: 8), source: host), by: driver, at: now)
                case 8:
                    naive = naive.filter { $0.value.1 != driver }
                    list.forget(driver)
                default:
                    known = pairs.filter { _ in Bool.random(using: &random) }
                    list.set(known)
                }
                if Bool.random(using: &random) { continue }
                for one in news(&list) {
                    switch one {
                    case .found(let device):
                        #expect(told.updateValue(device, forKey: device.identity) == nil, "\(seed)")
                    case .changed(let device):
                        #expect(told.updateValue(device, forKey: device.identity) != nil, "\(seed)")
                    case .lost(let identity): #expect(told.removeValue(forKey: identity) != nil, "\(seed)")
                    }
                }
                var expected: [DeviceList.Identity: Set<String>] = [:]
                for (sighting, driver) in naive.values {
                    let (id, instance) = (sighting.announcement.resolvable, sighting.announcement.instance)
                    let pair = known.first { id?.isOf(key: $0.resolvingKey, instance: instance) ?? false }
                    let identity = pair.map { DeviceList.Identity.pair($0.id) } ?? .instance(instance)
                    expected[identity, default: []].insert("\(driver) \(sighting.endpoints[0])")
                }
                #expect(Set(list.devices().map(\.identity)) == Set(expected.keys), "\(seed)")
                #expect(Set(told.keys) == Set(expected.keys), "\(seed)")
                for device in list.devices() {
                    let places = Set(device.endpoints.map { "\($0.driver) \($0.endpoint)" })
                    #expect(places == expected[device.identity], "\(seed)")
                }
                for device in list.devices() { #expect(told[device.identity] == device, "\(seed)") }
            }
        }
    }

    @Test func thereIsAnEndToThem() {
        var list = DeviceList()
        for number in 0..<2000 {
            let instance = [UInt8(number >> 8), UInt8(number & 255), 0, 0, 0, 0, 0, 0]
            let sighting = Sighting(Announcement(instance: instance, state: .live), from: "", name: "", endpoints: [])
            list.note(.seen(sighting), by: .beacon, at: .start)
        }
        #expect(list.devices().count == DeviceList.most)
        // Another driver has room of its own.
        list.note(.seen(sighting(1, "10.0.0.1")), by: .address, at: .start)
        #expect(list.devices().count == DeviceList.most + 1)
    }
}
