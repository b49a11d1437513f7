import Sodium
import TestSupport
import Testing
import Time

@testable import Discovery

extension SightingNews {
    fileprivate var sighting: Sighting? { if case .seen(let sighting) = self { sighting } else { nil } }
}

/// Devices on one network, in virtual time.
private struct VirtualNetwork {
    private struct Datagram {
        let bytes: [UInt8]
        let source: Int
        /// Nil for all.
        let target: Int?
        let at: Instant
    }

    var engines: [BeaconEngine]
    var news: [[(SightingNews, Instant)]]
    var now = Instant.start + .seconds(1000)
    /// Of all datagrams, those that are lost.
    var loss = 0.0
    var isPlugged: [Bool]
    var sent = 0
    private var wire: [Datagram] = []
    private var random = SplitMix(seed: 5)

    init(_ count: Int) {
        engines = (0..<count).map { number in
            BeaconEngine(instance: Self.instance(number), using: SplitMix(seed: UInt64(number)))
        }
        news = .init(repeating: [], count: count)
        isPlugged = .init(repeating: true, count: count)
    }

    static func instance(_ number: Int) -> [UInt8] {
        [UInt8(number >> 8), UInt8(number & 255)] + [UInt8](repeating: 7, count: 6)
    }
    static func endpoint(_ number: Int) -> Endpoint {
        Endpoint(host: "10.0.\(number >> 8).\(number & 255)", port: Beacon.port)
    }

    mutating func advertise(_ number: Int, _ state: Announcement.State = .idle) {
        let announcement = Announcement(instance: Self.instance(number), state: state)
        engines[number].advertise(announcement, name: "device \(number)", port: 4000, at: now)
    }

    private mutating func flush(_ number: Int) {
        while let output = engines[number].nextOutput() {
            switch output {
            case .tellAll(let bytes): send(bytes, from: number, to: nil)
            case .tell(let bytes, let endpoint):
                send(bytes, from: number, to: engines.indices.first { Self.endpoint($0) == endpoint })
            case .news(let one): news[number].append((one, now))
            }
        }
    }

    private mutating func send(_ bytes: [UInt8], from source: Int, to target: Int?) {
        sent += 1
        if isPlugged[source] {
            wire.append(Datagram(bytes: bytes, source: source, target: target, at: now + .milliseconds(1)))
        }
    }

    mutating func run(_ time: Duration) {
        let end = now + time
        while true {
            for number in engines.indices { flush(number) }
            let next = [wire.map(\.at).min(), engines.compactMap(\.deadline).min()].compactMap(\.self).min()
            guard let next, next <= end else { break }
            now = max(now, next)
            let due = wire.filter { $0.at <= now }
            wire.removeAll { $0.at <= now }
            for datagram in due {
                let targets = datagram.target.map { [$0] } ?? Array(engines.indices)
                for target in targets where target != datagram.source && isPlugged[target] {
                    if Double.random(in: 0..<1, using: &random) < loss { continue }
                    engines[target].receive(datagram.bytes, from: Self.endpoint(datagram.source), at: now)
                    flush(target)
                }
            }
            for number in engines.indices where engines[number].deadline.map({ $0 <= now }) ?? false {
                engines[number].poll(at: now)
                flush(number)
            }
        }
        now = end
    }

    func seen(by number: Int) -> Set<[UInt8]> {
        news[number].reduce(into: []) { seen, entry in
            switch entry.0 {
            case .seen(let sighting): seen.insert(sighting.announcement.instance)
            case .lost(let instance, _): seen.remove(instance)
            }
        }
    }
}

@Suite struct BeaconEngineTests {
    @Test func aNewDeviceIsFoundAtOnce() throws {
        var network = VirtualNetwork(2)
        network.engines[0].browse(at: network.now)
        network.run(.seconds(100))
        let start = network.now
        network.advertise(1, .live)
        network.run(.milliseconds(300))
        let first = try #require(network.news[0].first)
        let sighting = try #require(first.0.sighting)
        #expect(
            sighting.name == "device 1" && sighting.announcement.state == .live && first.1 - start <= .milliseconds(10)
        )
        #expect(sighting.endpoints.map(\.description) == ["10.0.0.1:4000"])
        network.run(.seconds(300))
        #expect(network.news[0].count == 1 && network.news[1].isEmpty, "nothing new is told again")
    }

    @Test func whoeverLooksFindsAllAtOnce() {
        var network = VirtualNetwork(20)
        for number in 1..<20 { network.advertise(number) }
        network.run(.seconds(50))
        network.engines[0].browse(at: network.now)
        network.run(.milliseconds(300))
        #expect(network.seen(by: 0).count == 19)
    }

    @Test func changesAreToldAndGoodbyesToo() throws {
        var network = VirtualNetwork(2)
        network.engines[0].browse(at: network.now)
        network.advertise(1)
        network.run(.seconds(10))
        network.advertise(1, .paused)
        network.run(.milliseconds(10))
        let sighting = try #require(network.news[0].last?.0.sighting)
        #expect(sighting.announcement.state == .paused && network.news[0].count == 2)
        network.engines[1].stopAdvertising(at: network.now)
        network.run(.milliseconds(10))
        #expect(network.news[0].last?.0 == .lost(VirtualNetwork.instance(1), source: "10.0.0.1"))
        network.run(.seconds(100))
        #expect(network.news[0].count == 3 && network.engines[1].deadline == nil)
    }

    /// One lost announcement is no loss, and silence is told in time.
    @Test func silenceIsALoss() throws {
        var network = VirtualNetwork(2)
        network.engines[0].browse(at: network.now)
        network.advertise(1)
        network.run(.seconds(1000))
        #expect(network.news[0].count == 1)
        network.isPlugged[1] = false
        network.run(.seconds(33))
        network.isPlugged[1] = true
        network.run(.seconds(200))
        #expect(network.news[0].count == 1, "one announcement was lost")
        network.isPlugged[1] = false
        let start = network.now
        network.run(.seconds(100))
        #expect(network.news[0].last?.0 == .lost(VirtualNetwork.instance(1), source: "10.0.0.1"))
        #expect(try #require(network.news[0].last).1 - start <= .seconds(65))
        network.isPlugged[1] = true
        network.engines[1].networkChanged(at: network.now)
        network.run(.milliseconds(10))
        #expect(network.seen(by: 0).count == 1)
    }

    /// Six datagrams a minute at most leave at rest, over three ways: IPv4, IPv6 and broadcast.
    @Test func restIsQuiet() {
        var network = VirtualNetwork(2)
        network.engines[0].browse(at: network.now)
        network.advertise(0)
        network.run(.seconds(60))
        network.sent = 0
        network.run(.seconds(3600))
        #expect(network.sent <= 2 * 65, "\(network.sent) an hour")
        #expect(network.sent >= 110)
    }

    @Test func fiveHundredAreFound() {
        var network = VirtualNetwork(500)
        network.loss = 0.1
        network.engines[0].browse(at: network.now)
        for number in 1..<500 { network.advertise(number) }
        network.run(.seconds(40))
        #expect(network.seen(by: 0).count == 499)
        #expect(network.news[0].count == 499)
    }

    /// Strangers can neither fill the memory, nor keep this device busy, nor have it answer without end.
    @Test func floodsHaveAnEnd() {
        var engine = BeaconEngine(instance: VirtualNetwork.instance(0), using: SplitMix(seed: 1))
        var now = Instant.start + .seconds(10)
        engine.browse(at: now)
        engine.advertise(Announcement(instance: VirtualNetwork.instance(0), state: .live), name: "", port: 1, at: now)
        var seen = 0, answers = 0, random = SplitMix(seed: 2)
        func drain() {
            while let output = engine.nextOutput() {
                switch output {
                case .news(.seen): seen += 1
                case .news(.lost): Issue.record("nobody has gone")
                case .tell: answers += 1
                case .tellAll: break
                }
            }
        }
        for _ in 0..<300 {
            for _ in 0..<100 {
                let stranger = Int.random(in: 1..<60_000, using: &random)
                let announcement = Announcement(instance: VirtualNetwork.instance(stranger), state: .live)
                let source = VirtualNetwork.endpoint(stranger)
                engine.receive(Beacon.of(announcement, name: "x", port: 9).bytes, from: source, at: now)
                engine.receive(Beacon.query.bytes, from: source, at: now)
            }
            now += .milliseconds(100)
            engine.poll(at: now)
            drain()
        }
        // Thirty seconds.
        #expect(seen == BeaconEngine.most && answers <= 30 * 10 + 21 && answers > 200, "\(seen) \(answers)")
        // One host that is many devices, and one that changes all the time.
        var quiet = BeaconEngine(instance: VirtualNetwork.instance(0), using: SplitMix(seed: 1))
        quiet.browse(at: now)
        for number in 1..<100 {
            let announcement = Announcement(instance: VirtualNetwork.instance(number), state: .live)
            quiet.receive(Beacon.of(announcement, name: "", port: 9).bytes, from: VirtualNetwork.endpoint(1), at: now)
        }
        var count = 0
        while let output = quiet.nextOutput() { if case .news(.seen) = output { count += 1 } }
        #expect(count == BeaconEngine.mostOfHost)
        for number in 0..<10_000 {
            let announcement = Announcement(
                instance: VirtualNetwork.instance(1),
                state: number % 2 == 0 ? .idle : .paused
            )
            quiet.receive(Beacon.of(announcement, name: "", port: 9).bytes, from: VirtualNetwork.endpoint(1), at: now)
            now += .milliseconds(1)
        }
        count = 0
        while let output = quiet.nextOutput() { if case .news(.seen) = output { count += 1 } }
        #expect(5500...6500 ~= count, "\(count)")
    }

    /// Others can announce a device, too, and change nothing of what it says itself, nor send it away.
    @Test func othersDoNotSpeakForADevice() {
        var engine = BeaconEngine(instance: VirtualNetwork.instance(0), using: SplitMix(seed: 1))
        let now = Instant.start + .seconds(10)
        engine.browse(at: now)
        let known = Announcement(instance: VirtualNetwork.instance(9), state: .live)
        let other = Announcement(instance: VirtualNetwork.instance(9), state: .paused)
        let (device, stranger) = (VirtualNetwork.endpoint(9), VirtualNetwork.endpoint(8))
        func outputs() -> [BeaconEngine.Output] {
            var outputs: [BeaconEngine.Output] = []
            while let output = engine.nextOutput() { outputs.append(output) }
            return outputs
        }
        engine.receive(Beacon.of(known, name: "desk", port: 9).bytes, from: device, at: now)
        _ = outputs()
        engine.receive(Beacon.of(other, name: "boss", port: 7).bytes, from: stranger, at: now)
        let place = Endpoint(host: stranger.host, port: 7)
        #expect(outputs() == [.news(.seen(Sighting(other, from: stranger.host, name: "boss", endpoints: [place])))])
        engine.receive(Beacon.of(known, name: "", port: 9, isLast: true).bytes, from: stranger, at: now)
        #expect(outputs() == [.news(.lost(VirtualNetwork.instance(9), source: stranger.host))])
        engine.receive(Beacon.of(known, name: "", port: 9, isLast: true).bytes, from: stranger, at: now)
        #expect(outputs().isEmpty)
        // Its own announcement, as by a loop of the network, is not heard.
        let own = Announcement(instance: VirtualNetwork.instance(0), state: .live)
        engine.receive(Beacon.of(own, name: "", port: 9).bytes, from: stranger, at: now)
        #expect(outputs().isEmpty)
        engine.stopBrowsing()
        #expect(outputs() == [.news(.lost(VirtualNetwork.instance(9), source: device.host))])
    }
}
