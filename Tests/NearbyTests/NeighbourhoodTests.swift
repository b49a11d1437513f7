import Discovery
import Pairing
import TestSupport
import Testing
import Time

@testable import Nearby

@Suite struct NeighbourhoodTests {
    private func network(_ names: [String] = ["desk", "tablet"]) throws -> VirtualNetwork {
        let network = try VirtualNetwork(names)
        for index in names.indices { try network.start(index) }
        network.run(for: .seconds(1))
        return network
    }

    @Test func devicesPairByACodeAndAreLinked() throws {
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        #expect(network.isLinked(0, to: pair) && network.isLinked(1, to: pair) && network.connections(0, 1) == 1)
        #expect(try network.devices[0].pairs().map(\.name) == ["tablet"])
        #expect(try network.devices[1].pairs().map(\.name) == ["desk"])
        #expect(try network.devices.flatMap { try $0.pairs() }.allSatisfy { $0.state == .paired })
        #expect(network.devices[0].announced?.announcement.token == nil, "the code is of no use any more")
    }

    /// One try a code, and five in a quarter of an hour.
    @Test func wrongCodesCloseTheDoor() throws {
        let network = try network()
        let shown = network.request(.showCode(isPhotographed: false), at: 0)
        let taken = network.request(.find(device: "desk"), at: 1)
        network.run(for: .milliseconds(50))
        var codes: Set<String> = []
        for _ in 0..<PairingDoor.mostTries {
            guard case .code(let code, _, _)? = network.replies(shown, at: 0).last else {
                Issue.record("no code is shown")
                return
            }
            #expect(codes.insert(code).inserted)
            let wrong = code == "000 000" ? "111111" : "000000"
            network.request(.pair(device: "desk", code: wrong), at: 1, of: taken)
            network.run(for: .seconds(1))
            #expect(network.replies(taken, at: 1).last == .wrongCode)
        }
        guard case .failed(.refused, _)? = network.replies(shown, at: 0).last else {
            Issue.record("the door is open")
            return
        }
        #expect(network.devices[0].announced?.announcement.token == nil)
        let again = network.request(.showCode(isPhotographed: false), at: 0)
        #expect(network.devices[0].hungUp.contains(again))
        #expect(try network.devices.allSatisfy { try $0.pairs().isEmpty })
        network.run(for: PairingDoor.lockout)
        #expect(network.pair(0, 1) != nil)
    }

    @Test func aCodeIsGoodForTwoMinutesAndAsLongAsItsCommand() throws {
        let network = try network()
        let shown = network.request(.showCode(isPhotographed: true), at: 0)
        network.run(for: .seconds(119))
        #expect(network.devices[0].announced?.announcement.token != nil)
        network.run(for: .seconds(2))
        #expect(network.devices[0].announced?.announcement.token == nil && network.devices[0].hungUp.contains(shown))
        let next = network.request(.showCode(isPhotographed: false), at: 0)
        #expect(network.devices[0].announced?.announcement.token != nil)
        network.leave(next, at: 0)
        #expect(network.devices[0].announced?.announcement.token == nil)
    }

    @Test func aCodeDoesNotOutliveASleep() throws {
        let network = try network()
        let shown = network.request(.showCode(isPhotographed: false), at: 0)
        network.wakeUp(0)
        #expect(network.devices[0].announced?.announcement.token == nil && network.devices[0].hungUp.contains(shown))
    }

    /// Also with the other side away, and where it forgets it in the same moment.
    @Test(arguments: [0, 1], [true, false])
    func bothSidesEndAPairing(index: Int, isThere: Bool) throws {
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        let other = 1 - index
        let formerKey = try network.devices[other].store.resolvingKey()
        if !isThere { network.kill(other) }
        try network.devices[index].store.change(pair) { pair in
            var pair = pair
            pair.state = .unpaired
            return pair
        }
        network.request(.unpair(pair: "\(pair)"), at: index)
        network.run(for: .seconds(5))
        if !isThere {
            #expect(try network.devices[index].pairs().map(\.state) == [.unpaired])
            try network.start(other)
            network.run(for: .seconds(70))
        }
        #expect(try network.devices.allSatisfy { try $0.pairs().isEmpty })
        #expect(try network.devices[other].store.resolvingKey() != formerKey)
        #expect(network.connections(0, 1) == 0)
    }

    /// Neither knows that the other one has ended it, too.
    @Test(arguments: [true, false])
    func bothEndItAtOnce(isTogether: Bool) throws {
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        var commands: [Int] = []
        if !isTogether { for index in 0..<2 { network.kill(index) } }
        if !isTogether { network.run(for: .seconds(1)) }
        for index in 0..<2 {
            if !isTogether { try network.start(index) }
            try network.devices[index].store.change(pair) { pair in
                var pair = pair
                pair.state = .unpaired
                return pair
            }
            commands.append(network.request(.unpair(pair: "\(pair)"), at: index))
            if !isTogether { network.kill(index) }
            if !isTogether { network.run(for: .seconds(1)) }
        }
        if !isTogether { for index in 0..<2 { try network.start(index) } }
        network.run(for: .seconds(90))
        #expect(try network.devices.allSatisfy { try $0.pairs().isEmpty })
        if isTogether { for index in 0..<2 { #expect(network.replies(commands[index], at: index) == [.done]) } }
    }

    /// A stranger learns no name of a device that only its pairs may know.
    @Test(arguments: Neighbourhood.Visibility.allCases)
    func strangersSeeOnlyWhatIsAnnounced(visibility: Neighbourhood.Visibility) throws {
        let network = try VirtualNetwork(["desk", "tablet"])
        try network.start(0, visibility)
        let hello = try network.hello(of: 0)
        #expect(hello?.name == (visibility == .off ? nil : visibility == .named ? "desk" : ""))
    }

    /// What it says itself comes back to it, as by a stranger that hands it on.
    @Test func aDeviceIsNotLinkedWithItself() throws {
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        network.kill(1)
        let key = try network.devices[0].pairs()[0].resolvingKey
        network.run(for: .seconds(70))
        for index in 0..<2 {
            try network.devices[index].store.change(pair) { pair in
                var pair = pair
                pair.note(address: "\(network.devices[0].host):1", at: "2026-11-30T12:00:00Z")
                return pair
            }
        }
        network.request(.reload, at: 0)
        network.dial(0, pair)
        network.run(for: .seconds(5))
        #expect(!network.isLinked(0, to: pair))
        #expect(try network.devices[0].pairs()[0].resolvingKey == key)
    }

    /// The pairs recognise a device with another key, also those that were away.
    @Test func theOthersStayPairs() throws {
        let network = try network(["desk", "tablet", "wall"])
        let madeFirst = network.pair(0, 1)
        let first = try #require(madeFirst)
        let madeSecond = network.pair(0, 2)
        let second = try #require(madeSecond)
        network.kill(2)
        try network.devices[0].store.change(first) { pair in
            var pair = pair
            pair.state = .unpaired
            return pair
        }
        network.request(.unpair(pair: "\(first)"), at: 0)
        network.run(for: .seconds(5))
        try network.start(2, .paired)
        network.run(for: .seconds(70))
        #expect(network.isLinked(0, to: second) && network.isLinked(2, to: second))
        #expect(try network.devices[2].pairs()[0].resolvingKey == network.devices[0].store.resolvingKey())
        // The tablet does not recognise the desk any more.
        var tablet = try #require(network.devices[1].neighbourhood)
        #expect(tablet.list.devices().allSatisfy { if case .instance = $0.identity { true } else { false } })
    }

    @Test func linesReachPairsAndNobodyElse() throws {
        let network = try network(["desk", "tablet", "wall"])
        let made = network.pair(0, 1)
        let pair = try #require(made)
        let sent = network.request(.tell(pair: "\(pair)", text: "hello\u{1B}[2J", parameters: ["a": "b"]), at: 0)
        network.run(for: .seconds(1))
        #expect(network.replies(sent, at: 0) == [.done] && network.devices[1].notes == ["desk: hello\u{1B}[2J"])
        // Those who watch read it, too.
        let watcher = network.request(.watch(visibility: .off), at: 1)
        network.request(.tell(pair: "\(pair)", text: "more", parameters: ["a": "b"]), at: 0)
        network.run(for: .seconds(1))
        let line = NearbyReply.message(from: "desk", DeviceMessage(text: "more", parameters: ["a": "b"]))
        #expect(network.replies(watcher, at: 1).last == line)
        // Without the right, nothing is shown.
        try network.devices[1].store.change(pair) { pair in
            var pair = pair
            pair.rights = [.watch]
            return pair
        }
        network.request(.reload, at: 1)
        let silent = network.request(.tell(pair: "\(pair)", text: "again", parameters: [:]), at: 0)
        network.run(for: .seconds(1))
        #expect(network.devices[1].notes.count == 2)
        #expect(network.replies(silent, at: 0) == [.failed(.refused, sentence: "tablet takes no lines of this device")])
        // One that is away is told so.
        network.kill(1)
        network.run(for: .seconds(1))
        let late = network.request(.tell(pair: "\(pair)", text: "third", parameters: [:]), at: 0)
        network.run(for: .seconds(15))
        guard case .failed(.unavailable, _)? = network.replies(late, at: 0).last else {
            Issue.record("nobody says that it failed")
            return
        }
    }

    /// Wherever the link breaks, or leads nowhere, a line comes once.
    @Test(arguments: 0..<40)
    func noLineIsLostOrShownTwice(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        network.run(for: .seconds(1))
        let sent = network.request(.tell(pair: "\(pair)", text: "once", parameters: [:]), at: 0)
        network.run(for: .milliseconds(Int.random(in: 0...6, using: &random)))
        if Bool.random(using: &random) { network.move(1) } else { network.cut(0, 1) }
        network.run(for: .seconds(3))
        #expect(network.replies(sent, at: 0) == [.done])
        #expect(network.devices[1].notes == ["desk: once"])
    }

    /// One dies while the other one waits to hear that the pair is stored: at the next link both agree.
    @Test(arguments: [0, 1], 1...40)
    func deathWhilePairingLeavesBothOfOneMind(victim: Int, step: Int) throws {
        let network = try network()
        let shown = network.request(.showCode(isPhotographed: false), at: 0)
        network.run(for: .milliseconds(20))
        guard case .code(let code, _, _)? = network.replies(shown, at: 0).last else {
            Issue.record("no code")
            return
        }
        let taken = network.request(.find(device: "desk"), at: 1)
        network.run(for: .milliseconds(20))
        network.request(.pair(device: "desk", code: code), at: 1, of: taken)
        network.run(for: .milliseconds(step))
        network.kill(victim)
        network.run(for: .seconds(100))
        try network.start(victim)
        network.run(for: .seconds(100))
        let (desk, tablet) = (try network.devices[0].pairs(), try network.devices[1].pairs())
        let arePaired = desk.map(\.state) == [.paired] && tablet.map(\.state) == [.paired]
        // Whoever alone has stored it grants nothing until the other side has proved that it has it, too.
        let isNone = (desk + tablet).count < 2 && (desk + tablet).allSatisfy { $0.state == .pending }
        #expect(arePaired || isNone, "\(desk) \(tablet)")
        if arePaired { #expect(network.isLinked(0, to: desk[0].id) && network.isLinked(1, to: desk[0].id)) }
    }

    /// Whatever happens to pairs, they are linked once more when it is over, by one connection.
    @Test(arguments: 0..<60)
    func pairsFindEachOtherAgain(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let network = try network(["desk", "tablet", "wall"])
        let made = [network.pair(0, 1), network.pair(2, 0), network.pair(1, 2)]
        let pairs = try made.map { try #require($0) }
        var isDead: [Bool] = [false, false, false]
        for _ in 0..<12 {
            let index = Int.random(in: 0..<3, using: &random)
            switch Int.random(in: 0..<5, using: &random) {
            case 0: network.plug(index, false)
            case 1: network.plug(index, true)
            case 2: network.cut(index, (index + 1) % 3)
            case 3:
                network.kill(index)
                isDead[index] = true
            default:
                if isDead[index] { try network.start(index, [.named, .paired].randomElement(using: &random)!) }
                isDead[index] = false
            }
            network.run(for: .milliseconds(Int.random(in: 1...20_000, using: &random)))
        }
        for index in 0..<3 {
            if isDead[index] { try network.start(index) }
            network.plug(index, true)
        }
        network.run(for: .seconds(150))
        for ((one, other), pair) in zip([(0, 1), (2, 0), (1, 2)], pairs) {
            #expect(network.isLinked(one, to: pair) && network.isLinked(other, to: pair))
            #expect(network.connections(one, other) == 1)
        }
    }

    /// However young the link was, and if both move at once.
    @Test(arguments: [[0], [1], [0, 1]], [10, 500, 3000, 60_000])
    func aChangeOfNetworkMakesANewLink(moved: [Int], age: Int) throws {
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        for _ in 0..<3 {
            network.run(for: .milliseconds(age))
            for index in moved { network.move(index) }
            network.run(for: .seconds(1))
            #expect(network.isLinked(0, to: pair) && network.isLinked(1, to: pair))
            #expect(network.connections(0, 1) == 1)
        }
    }

    /// Each names its own way of the two, so that both sides keep the same one.
    @Test(arguments: 0..<40)
    func bothDialAtOnce(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let network = try network()
        let made = network.pair(0, 1)
        let pair = try #require(made)
        network.cut(0, 1)
        network.run(for: VirtualNetwork.latency)
        var order = [0, 1]
        order.shuffle(using: &random)
        network.dial(order[0], pair)
        network.run(for: .milliseconds(Int.random(in: 0...8, using: &random)))
        network.dial(order[1], pair)
        network.run(for: .seconds(1))
        #expect(network.isLinked(0, to: pair) && network.isLinked(1, to: pair) && network.connections(0, 1) == 1)
    }
}
