import Access
import Peers
import Synchronization
import TestSupport
import Testing
import Time

@testable import Calls

@Suite struct ViewerPlacesTests {
    /// Places that viewers come to, in the order given, a tenth of a second apart, as long as there are any for them.
    private struct Walk {
        var places: ViewerPlaces
        var now = Instant.start
        private var number = 0
        /// The session of the viewer that came last.
        private(set) var last = ""

        init(limit: Int) { places = ViewerPlaces(limit: limit) }

        /// - Returns: what there was.
        mutating func come(_ address: String) -> ViewerPlaces.Vacancy {
            now = now + .milliseconds(100)
            number += 1
            let vacancy = places.vacancy(for: address, now: now)
            switch vacancy {
            case .free: break
            case .insteadOf(let other): places.leave(other)
            case .none, .crowded: return vacancy
            }
            last = "\(number) \(address)"
            places.take(last, from: address, now: now)
            return vacancy
        }
    }

    @Test func theOldestOfTheNetworkThatHasMostGivesWay() {
        var walk = Walk(limit: 6)
        for address in ["a", "b", "b", "c", "c", "c"] { #expect(walk.come(address) == .free) }
        #expect(walk.come("d") == .insteadOf("4 c"))
        #expect(walk.come("e") == .insteadOf("2 b"))
        // It has one now, and the others have two at the most.
        #expect(walk.come("e") == .none)
    }

    @Test func oneThatIsSlowGivesWayToANetworkThatHasNone() {
        var walk = Walk(limit: 2)
        #expect(walk.come("a") == .free && walk.come("b") == .free)
        #expect(walk.come("c") == .none)
        walk.now = walk.now + ViewerPlaces.connectingTime
        #expect(walk.come("a") == .none)
        #expect(walk.come("c") == .insteadOf("1 a"))
    }

    @Test func whoHasConnectedStays() {
        var walk = Walk(limit: 3)
        for address in ["a", "a", "a"] { #expect(walk.come(address) == .free) }
        for number in 1...3 { walk.places.connect("\(number) a") }
        walk.now = walk.now + .seconds(100)
        #expect(walk.come("b") == .none)
        walk.places.leave("2 a")
        #expect(walk.come("b") == .free)
        #expect(walk.come("c") == .none)
    }

    /// Each costs memory.
    @Test func fewOfOneNetworkWait() {
        var walk = Walk(limit: 1000)
        let most = walk.places.mostWaitingOfOneNetwork
        #expect(most == 64)
        for number in 0..<most { #expect(walk.come("2001:db8::\(number)") == .free) }
        #expect(walk.come("2001:db8::ffff") == .crowded)
        #expect(walk.come("2001:db8:1::1") == .free)
        walk.places.connect("2 2001:db8::1")
        #expect(walk.come("2001:db8::ffff") == .free)
        #expect(walk.come("2001:db8::ffff") == .crowded)
        // One that is slow does not keep out others of its network for long.
        walk.now = walk.now + ViewerPlaces.connectingTime
        #expect(walk.come("2001:db8::ffff") == .crowded)
        walk.now = walk.now + ViewerPlaces.connectingTimeAmongOwn
        #expect(walk.come("2001:db8::ffff") == .insteadOf("1 2001:db8::0"))
    }

    /// Behind one address, after the sender was started again. Each needs eight seconds to connect.
    @Test(arguments: [1, 16, 17, 50, 64]) func allViewersMayConnectAtOnceFromOneAddress(limit: Int) {
        var walk = Walk(limit: limit)
        var joined: [String] = []
        for _ in 0..<limit {
            #expect(walk.come("192.0.2.1") == .free)
            joined.append(walk.last)
        }
        walk.now = walk.now + .milliseconds(1500)
        // One more throws out none of them.
        let more = walk.come("192.0.2.1")
        #expect(more == .none || more == .crowded)
        for id in joined { walk.places.connect(id) }
        #expect(walk.come("198.51.100.1") == .none)
    }

    /// One network makes nine offers a second for a minute and connects none. Viewers of other networks come and go meanwhile.
    @Test func offersAloneKeepNobodyOut() {
        var walk = Walk(limit: 50)
        var viewers: [String] = []
        for second in 0..<60 {
            for _ in 0..<9 { _ = walk.come("192.0.2.1") }
            let vacancy = walk.come("198.51.100.\(second)")
            #expect(vacancy != .none && vacancy != .crowded, "after \(second) s")
            walk.places.connect(walk.last)
            viewers.append(walk.last)
            if viewers.count > 45 { walk.places.leave(viewers.removeFirst()) }
        }
    }
}

/// The places of a call with a server before it.
@Suite struct ViewerPlacesOverHTTPTests {
    @Test func whoHasNotConnectedGivesWayToAnotherNetwork() throws {
        let web = try WebFixture()
        func join(from network: String) throws -> ReceivedResponse {
            try web.request("POST", "/whep", [WebFixture.sdp], body: WebFixture.offer, from: network)
        }
        let own = try (0..<2).map { _ in "/\(try #require(try join(from: "127.0.0.1")["location"]))" }
        #expect(try join(from: "127.0.0.1").status == 503)
        #expect(try join(from: "127.0.0.2").status == 201)
        let ended = try web.request("DELETE", own[0])
        #expect(ended.status == 404 && ended["oriel-reason"] == "busy")
        #expect(web.places.compactMap(\.self).sorted() == ["127.0.0.1", "127.0.0.2"])
        #expect(try web.request("DELETE", own[1]).status == 200)
    }

    /// All come in one round. Those that get the place of another begin in the next one, and of two from one network the first has lost it
    /// again by then, to the third or the fourth network.
    @Test func aNewcomerThatLosesItsPlaceAgainIsTold() throws {
        let web = try WebFixture(viewerLimit: 4)
        let refused = Mutex<Set<String>>([])
        _ = web.peers.perform { [call = web.call] _ in
            for (index, network) in [1, 1, 1, 1, 2, 2, 3, 4].enumerated() {
                var newcomer = Newcomer(from: "192.0.\(network).1")
                newcomer.name = "\(index)"
                call.join(offer: WebFixture.offer, newcomer) { result in
                    if case .failure(.full) = result { _ = refused.withLock { $0.insert("\(index)") } }
                }
            }
        }
        // The first three of the network that had all places gave them away.
        try wait(until: "it is refused") { refused.withLock(\.self) == ["0", "1", "2", "4"] }
        try wait(until: "it is told") { web.log.all.contains { $0.contains("\"4\" from 192.0.2.1 was turned away") } }
    }

    /// Where each viewer has one of a few ports, the newcomer gets that of the one that gives way.
    @Test func aPlaceComesWithItsPort() throws {
        func join(_ web: WebFixture, from network: String) throws -> Int {
            try web.request("POST", "/whep", [WebFixture.sdp], body: WebFixture.offer, from: network).status
        }
        var used: WebFixture?
        // Until there are two ports that nobody else has.
        for _ in 0..<20 where used == nil {
            let port = UInt16.random(in: 20_000..<32_000)
            let web = try WebFixture(viewerLimit: 50, ports: port...port + 1)
            let statuses = try (0..<2).map { _ in try join(web, from: "127.0.0.1") }
            if statuses == [201, 201] { used = web }
        }
        let web = try #require(used)
        #expect(try join(web, from: "127.0.0.1") == 503)
        #expect(try join(web, from: "127.0.0.2") == 201)
    }

    @Test func anOfferIsNotReadWhileThereIsNoPlace() throws {
        let web = try WebFixture(viewerLimit: 1)
        #expect(try web.join().response.status == 201)
        let response = try web.request("POST", "/whep", [WebFixture.sdp], body: "rubbish")
        #expect(response.status == 503 && response["oriel-reason"] == "busy")
    }

    /// Those who send it pay, and not the network from which the viewer has joined.
    @Test func nonsenseInFragmentsCountsForItsSender() throws {
        let web = try WebFixture()
        let session = try web.join().session
        func change(from network: String) throws -> Int {
            try web.request("PATCH", session, [WebFixture.fragment], body: "rubbish", from: network).status
        }
        var count = 0
        while try change(from: "127.0.0.2") == 400, count < 1000 { count += 1 }
        #expect(Gate.uselessOfOneNetwork.limit..<1000 ~= count)
        #expect(try change(from: "127.0.0.1") == 400)
    }

    /// Each is an offer that would be taken, from a network that has left as often as it may begin.
    @Test func offersBeyondTheStartsAreReadNoMore() throws {
        let web = try WebFixture()
        var isRead: Bool { web.access.atGate { $0.waitToBeRead("127.0.0.1", now: $1) } == nil }
        var count = 0
        // More may begin with time.
        while isRead, count < 1000 {
            count += 1
            let (response, session, _) = try web.join()
            #expect([201, 429].contains(response.status))
            if response.status == 201 { #expect(try web.request("DELETE", session).status == 200) }
        }
        #expect(64 + Gate.uselessOfOneNetwork.limit..<1000 ~= count)
    }

    @Test func nonsenseOfOneNetworkIsReadNoMore() throws {
        let web = try WebFixture()
        func post(_ offer: String, from network: String = "127.0.0.1") throws -> ReceivedResponse {
            try web.request("POST", "/whep", [WebFixture.sdp], body: offer, from: network)
        }
        var count = 0
        var response = try post("v=0\r\nrubbish")
        // Each second that this takes, one more is read.
        while response.status == 400, count < 1000 {
            count += 1
            response = try post("v=0\r\nrubbish")
        }
        #expect(count >= Gate.uselessOfOneNetwork.limit)
        #expect(response.status == 429 && response["retry-after"] != nil)
        #expect(try post(WebFixture.offer, from: "127.0.0.2").status == 201)
    }
}
