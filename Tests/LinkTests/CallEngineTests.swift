import Pairing
import Sodium
import Synchronization
import TestSupport
import Testing
import Time

@testable import Link

/// Devices with links between them, in virtual time. A link that breaks loses what is on its way.
private struct VirtualPeople {
    private struct Letter {
        let message: CallMessage
        let source: Int
        let target: Int
        let at: Instant
        let link: Int
    }

    struct Device {
        let id: PairID
        var engine: CallEngine
        /// What people have seen of each request.
        var began: [CallEngine.Request: CallID] = [:]
        var others: [CallEngine.Request: Int] = [:]
        var started: Set<CallEngine.Request> = []
        var ended: [CallEngine.Request: CallEnd] = [:]
        var ringing: Set<CallEngine.Request> = []
        var requests: Set<CallEngine.Request> = []
        var parameters: [String: String] = [:]
        var isAsleep = false
    }

    var devices: [Device]
    var now = Instant.start
    var faults: [String] = []
    private var wire: [Letter] = []
    /// The number of the present link between two devices; absent without one.
    private var links: [Set<Int>: Int] = [:]
    private var linkCount = 0
    private let delay: Duration

    /// - Parameter ids: of the calls, for each device.
    init(_ count: Int, delay: Duration = .milliseconds(5), seed: UInt64 = 1) {
        self.delay = delay
        devices = (0..<count).map { number in
            let state = Mutex(SplitMix(seed: seed &* 31 &+ UInt64(number)))
            let engine = CallEngine {
                state.withLock { random in
                    CallID(bytes: (0..<16).map { _ in UInt8.random(in: .min ... .max, using: &random) })!
                }
            }
            return Device(id: PairID(bytes: [UInt8](repeating: UInt8(number), count: 16))!, engine: engine)
        }
        for one in 0..<count { for other in 0..<one { connect(one, other) } }
    }

    func isLinked(_ one: Int, _ other: Int) -> Bool { links[[one, other]] != nil }

    mutating func connect(_ one: Int, _ other: Int) {
        guard links[[one, other]] == nil else { return }
        linkCount += 1
        links[[one, other]] = linkCount
        devices[one].engine.linkUp(devices[other].id)
        devices[other].engine.linkUp(devices[one].id)
        settle()
    }

    mutating func disconnect(_ one: Int, _ other: Int) {
        guard let link = links.removeValue(forKey: [one, other]) else { return }
        wire.removeAll { $0.link == link }
        devices[one].engine.linkDown(devices[other].id, at: now)
        devices[other].engine.linkDown(devices[one].id, at: now)
        settle()
    }

    /// Has a person do something.
    mutating func with<Result>(_ number: Int, _ body: (inout CallEngine) -> Result) -> Result {
        defer { settle() }
        return body(&devices[number].engine)
    }

    mutating func invite(_ source: Int, _ targets: [Int], seconds: Int = 10) -> CallEngine.Request? {
        let ids = targets.map { devices[$0].id }
        let time = now
        let request = with(source) { $0.invite(ids, note: "time?", seconds: seconds, at: time) }
        if let request { devices[source].requests.insert(request) }
        return request
    }

    /// Takes a call that rings.
    mutating func accept(_ number: Int) -> Bool {
        guard let request = devices[number].ringing.first else { return false }
        let time = now
        return with(number) { $0.accept(request, at: time) }
    }

    mutating func settle() {
        for number in devices.indices {
            while let output = devices[number].engine.nextOutput() { note(output, of: number) }
        }
    }

    private mutating func note(_ output: CallEngine.Output, of number: Int) {
        func other(_ id: PairID) -> Int { devices.firstIndex { $0.id == id }! }
        func blame(_ condition: Bool, _ what: String) {
            if !condition { faults.append("\(number): \(what) \(output)") }
        }
        switch output {
        case .send(let message, let device):
            guard let link = links[[number, other(device)]] else { return blame(false, "sent without a link") }
            wire.append(Letter(message: message, source: number, target: other(device), at: now + delay, link: link))
        case .rings(let request, _, let note):
            blame(devices[number].requests.insert(request).inserted && note == "time?", "rings twice")
            devices[number].ringing.insert(request)
        case .isRinging(let request, _): blame(devices[number].ended[request] == nil, "rings after its end")
        case .begins(let request, let id, let device, _):
            blame(devices[number].began.updateValue(id, forKey: request) == nil, "begins twice")
            blame(devices[number].ended[request] == nil && devices[number].requests.contains(request), "begins late")
            devices[number].others[request] = other(device)
            devices[number].ringing.remove(request)
        case .started(let request): blame(devices[number].started.insert(request).inserted, "starts twice")
        case .ended(let request, let reason, let parameters):
            blame(devices[number].ended.updateValue(reason, forKey: request) == nil, "ends twice")
            blame(devices[number].requests.contains(request), "ends unasked")
            devices[number].ringing.remove(request)
            devices[number].parameters = parameters
        }
    }

    /// The media of two devices that both believe in a call flows after a while.
    private mutating func moveMedia() {
        for number in devices.indices {
            for (request, id) in devices[number].began where devices[number].ended[request] == nil {
                let other = devices[number].others[request]!
                let isMutual = devices[other].began.contains { $0.value == id && devices[other].ended[$0.key] == nil }
                if isMutual { devices[number].engine.noteStarted(request) }
            }
        }
        settle()
    }

    mutating func run(_ time: Duration) {
        let end = now + time
        while true {
            settle()
            let awake = devices.filter { !$0.isAsleep }
            let letters = wire.filter { !devices[$0.target].isAsleep }
            let next = [letters.map(\.at).min(), awake.compactMap(\.engine.deadline).min()].compactMap(\.self).min()
            guard let next, next <= end else { break }
            now = max(now, next)
            // All take as long, so a link keeps the order; a sleeping device reads later.
            let due = letters.filter { $0.at <= now }
            wire.removeAll { $0.at <= now && !devices[$0.target].isAsleep }
            for letter in due where links[[letter.source, letter.target]] == letter.link {
                devices[letter.target].engine.receive(letter.message, from: devices[letter.source].id, at: now)
                settle()
            }
            for number in devices.indices where !devices[number].isAsleep { devices[number].engine.poll(at: now) }
            settle()
            moveMedia()
        }
        now = end
    }
}

@Suite struct CallEngineTests {
    @Test func aCallIsMade() throws {
        var people = VirtualPeople(2)
        let asked = people.invite(0, [1])
        let request = try #require(asked)
        people.run(.seconds(1))
        #expect(people.devices[1].ringing.count == 1)
        let isAccepted = people.accept(1)
        people.run(.seconds(1))
        #expect(isAccepted && people.devices.allSatisfy { $0.started.count == 1 && $0.ended.isEmpty })
        #expect(Set(people.devices.flatMap(\.began.values)).count == 1)
        let isEnded = people.with(0) { $0.end(request, parameters: ["why": "done"]) }
        people.run(.seconds(1))
        #expect(isEnded && people.devices.allSatisfy { $0.ended.values.map(\.self) == [.hungUp] })
        #expect(people.devices[1].parameters == ["why": "done"] && people.faults.isEmpty)
    }

    /// Each way to an end, and the reason on both sides.
    @Test func bothLearnTheReason() throws {
        var people = VirtualPeople(3)
        func ends(_ numbers: Int...) -> [CallEnd?] {
            numbers.map { people.devices[$0].ended.max { $0.key < $1.key }?.value }
        }
        let first = people.invite(0, [1])
        people.run(.seconds(15))
        #expect(first != nil && ends(0, 1) == [.unanswered, .unanswered])
        let second = people.invite(0, [1])
        people.run(.seconds(1))
        let ringing = try #require(people.devices[1].ringing.first)
        _ = people.with(1) { $0.end(ringing) }
        people.run(.seconds(1))
        #expect(second != nil && ends(0, 1) == [.rejected, .rejected])
        let asked = people.invite(0, [1])
        let third = try #require(asked)
        people.run(.seconds(1))
        _ = people.with(0) { $0.end(third) }
        people.run(.seconds(1))
        #expect(ends(0, 1) == [.cancelled, .cancelled])
        // One who is in a call is busy, and rings nobody.
        _ = people.invite(0, [1])
        people.run(.seconds(1))
        _ = people.invite(2, [1])
        people.run(.seconds(1))
        #expect(ends(2) == [.busy] && people.devices[1].ringing.count == 1)
        let another = people.invite(0, [2])
        #expect(another == nil)
        for wrong in [
            people.invite(2, [], seconds: 1), people.invite(2, [0], seconds: 0), people.invite(2, [0], seconds: 121),
        ] {
            #expect(wrong == nil)
        }
        #expect(people.faults.isEmpty)
    }

    /// Of several that are called, one answers.
    @Test func theOthersStopRinging() {
        var people = VirtualPeople(4)
        _ = people.invite(0, [1, 2, 3])
        people.run(.seconds(1))
        let isAccepted = people.accept(2)
        people.run(.seconds(1))
        #expect(isAccepted && people.devices[0].started.count == 1 && people.devices[2].started.count == 1)
        #expect(
            people.devices[1].ended.values.map(\.self) == [.elsewhere]
                && people.devices[3].ended.values.map(\.self) == [.elsewhere]
        )
        #expect(people.faults.isEmpty)
    }

    /// Two who call each other at once are connected, by one call.
    @Test func crossedInvitationsAreOneCall() {
        for seed in 0..<50 {
            var people = VirtualPeople(2, seed: UInt64(seed))
            let requests = [people.invite(0, [1]), people.invite(1, [0])]
            people.run(.seconds(1))
            #expect(requests.allSatisfy { $0 != nil } && people.devices.allSatisfy { $0.started.count == 1 }, "\(seed)")
            #expect(Set(people.devices.flatMap(\.began.values)).count == 1 && people.faults.isEmpty, "\(people.faults)")
        }
    }

    /// An answer that was on its way when the link broke.
    @Test func aBrokenLinkLosesNoAnswer() {
        var people = VirtualPeople(2)
        _ = people.invite(0, [1], seconds: 60)
        people.run(.seconds(1))
        _ = people.accept(1)
        people.disconnect(0, 1)
        people.run(.seconds(5))
        #expect(people.devices[0].began.isEmpty)
        people.connect(0, 1)
        people.run(.seconds(1))
        #expect(people.devices.allSatisfy { $0.started.count == 1 } && people.faults.isEmpty)
        // A call goes on without a link, and ends at the next one if the other side has ended it.
        people.disconnect(0, 1)
        let request = people.devices[1].started.first!
        _ = people.with(1) { $0.end(request) }
        people.run(.seconds(60))
        #expect(people.devices[0].ended.isEmpty)
        people.connect(0, 1)
        people.run(.seconds(1))
        #expect(
            people.devices[0].ended.values.map(\.self) == [.lost]
                && people.devices[1].ended.values.map(\.self) == [.hungUp]
        )
    }

    /// A link that is away for a moment ends nothing; one that stays away does.
    @Test func ringingWaitsForTheLink() {
        var people = VirtualPeople(2)
        _ = people.invite(0, [1], seconds: 60)
        people.run(.seconds(5))
        people.disconnect(0, 1)
        people.run(.seconds(1))
        people.connect(0, 1)
        people.run(.seconds(40))
        #expect(people.devices[1].ringing.count == 1 && people.devices[0].ended.isEmpty)
        people.disconnect(0, 1)
        people.run(.seconds(11))
        #expect(people.devices[1].ended.values.map(\.self) == [.lost])
        people.run(.seconds(60))
        #expect(people.devices[0].ended.values.map(\.self) == [.unanswered] && people.faults.isEmpty)
    }

    /// A device that is no pair any more is in no call.
    @Test func theUnpairedAreInNoCall() {
        for isAccepted in [false, true] {
            var people = VirtualPeople(2)
            _ = people.invite(0, [1], seconds: 60)
            people.run(.seconds(1))
            if isAccepted { _ = people.accept(1) }
            people.run(.seconds(1))
            let ids = people.devices.map(\.id)
            people.with(0) { $0.forget(ids[1]) }
            people.with(1) { $0.forget(ids[0]) }
            #expect(people.devices.allSatisfy { $0.ended.values.map(\.self) == [.lost] } && people.faults.isEmpty)
        }
    }

    /// People call, answer, refuse and hang up, links break, and devices sleep: each request ends once, and in the end all agree.
    @Test(arguments: [2, 3, 5]) func allAgreeInTheEnd(count: Int) {
        for seed in 0..<3400 {
            var random = SplitMix(seed: UInt64(seed * 7 + count))
            var people = VirtualPeople(
                count,
                delay: .milliseconds(Int.random(in: 1...400, using: &random)),
                seed: UInt64(seed)
            )
            for _ in 0..<25 {
                let one = Int.random(in: 0..<count, using: &random)
                let other = (one + Int.random(in: 1..<count, using: &random)) % count
                switch Int.random(in: 0..<12, using: &random) {
                case 0..<4:
                    let all = (0..<count).filter { $0 != one }
                    _ = people.invite(
                        one,
                        Bool.random(using: &random) ? [other] : all,
                        seconds: Int.random(in: 1...20, using: &random)
                    )
                case 4..<6: _ = people.accept(one)
                case 6:
                    let open = people.devices[one].requests.subtracting(people.devices[one].ended.keys)
                    if let request = open.min() { _ = people.with(one) { $0.end(request) } }
                case 7: people.disconnect(one, other)
                case 8: people.connect(one, other)
                case 9: people.devices[one].isAsleep.toggle()
                default: people.run(.milliseconds(Int.random(in: 1...3000, using: &random)))
                }
            }
            for one in 0..<count {
                people.devices[one].isAsleep = false
                for other in 0..<one { people.connect(one, other) }
            }
            people.run(.seconds(200))
            for (number, device) in people.devices.enumerated() {
                let open = device.requests.subtracting(device.ended.keys)
                #expect(open.count <= 1 && device.ringing.isEmpty, "\(seed)")
                for request in open {
                    // It is live, and the other side believes the same.
                    let id = device.began[request]
                    let other = device.others[request].map { people.devices[$0] }
                    let isMutual = other?.began.contains { $0.value == id && other?.ended[$0.key] == nil } ?? false
                    #expect(isMutual && device.started.contains(request), "\(seed): device \(number)")
                }
            }
            #expect(people.faults.isEmpty, "\(seed): \(people.faults)")
            if !people.faults.isEmpty { return }
        }
    }
}
