import Media
import TestSupport
import Testing
import Time

@testable import Access

extension TokenHash {
    static func test(_ number: Int) -> TokenHash { TokenHash(rawValue: GuestKey.test(number).rawValue)! }
}

extension InviteWish {
    static func test(_ number: Int, _ change: (inout InviteWish) -> Void = { _ in }) -> InviteWish {
        var wish = InviteWish(token: .test(number))
        change(&wish)
        return wish
    }
}

/// Links with rights of their own.
@Suite struct InviteTests {
    private func ended(_ access: inout AccessEngine) -> [ParticipantID] {
        access.takeOutputs().compactMap { output in
            if case .ended(let id, _, .revoked) = output { id } else { nil }
        }
    }

    // MARK: - Rights

    /// An invitation narrows, and answers the question whether somebody may speak.
    @Test(arguments: TalkPolicy.allCases) func rightsAreThoseOfTheLink(talk: TalkPolicy) throws {
        var settings = AccessEngine.Settings()
        settings.talk = talk
        settings.rights = [.watch, .hear, .record]
        var access = AccessEngine(settings)
        let quiet = try access.invite(.test(1), at: .start)
        let loud = try access.invite(.test(2) { $0.rights = [.watch, .talk] }, at: .start)
        #expect(access.rights(by: .common) == [.watch, .hear, .talk, .record])
        #expect(access.rights(by: .invite(quiet.number)) == [.watch, .hear])
        #expect(access.rights(by: .invite(loud.number)) == [.watch, .talk])
        #expect(access.rights(by: .invite(99)) == [])
        access.begin(1)
        access.begin(2, by: .invite(quiet.number))
        access.begin(3, by: .invite(loud.number))
        access.begin(4, canSpeak: false, by: .invite(loud.number))
        let states = ([1, 2, 3, 4] as [ParticipantID]).map { access.talkState(of: $0) }
        switch talk {
        case .off: #expect(states == [.off, .off, .off, .off])
        case .ask: #expect(states == [.none, .off, .granted, .off])
        case .on: #expect(states == [.granted, .off, .granted, .off])
        }
        expect(!access.hears(2, level: 10, isQuiet: false, at: .start))
        #expect(access.askToTalk(2, at: .start) != .granted)
    }

    @Test func whoIsInvitedNeedNotKnock() throws {
        var settings = AccessEngine.Settings()
        settings.asks = true
        var access = AccessEngine(settings)
        let invite = try access.invite(.test(1) { $0.name = "Ann\u{1B}[2J\nSmith" }, at: .start)
        #expect(access.entry(nil) == .mustKnock && access.entry(.test(1)) == .mustKnock)
        #expect(access.entry(nil, by: .invite(invite.number)) == .granted(name: "Ann [2J Smith"))
        #expect(access.entry(.test(1), by: .invite(invite.number + 1)) == .over)
    }

    // MARK: - Ends

    @Test func itsEndIsTheEndOfAllWhoCameByIt() throws {
        var access = AccessEngine(AccessEngine.Settings())
        let invite = try access.invite(.test(1) { $0.length = .seconds(60) }, at: .seconds(10))
        for id in [1, 2] as [ParticipantID] { access.begin(id, by: .invite(invite.number)) }
        access.begin(3)
        #expect(access.nextDeadline == .seconds(70))
        access.tick(now: .seconds(69.9))
        #expect(ended(&access) == [])
        access.tick(now: .seconds(70))
        #expect(ended(&access) == [1, 2])
        #expect(access.entry(nil, by: .invite(invite.number)) == .over && access.nextDeadline == nil)
        #expect(access.listedInvites.isEmpty)
    }

    /// A machine that sleeps for an hour has one hour less, and one that slept before has not.
    @Test func suspendCounts() throws {
        var settings = AccessEngine.Settings()
        settings.asleep = .seconds(5000)
        var access = AccessEngine(settings)
        let invite = try access.invite(.test(1) { $0.length = .seconds(7200) }, asleep: .seconds(5000), at: .start)
        let late = try access.invite(.test(2) { $0.length = .seconds(7200) }, asleep: .seconds(8600), at: .start)
        access.begin(1, by: .invite(invite.number))
        access.begin(2, by: .invite(late.number))
        #expect(access.time(left: invite, at: .start) == .seconds(3600) && access.nextDeadline == .seconds(3600))
        #expect(access.time(left: late, at: .start) == .seconds(7200))
        access.tick(now: .seconds(3600))
        #expect(ended(&access) == [1])
        access.noteSleep(.seconds(20_000))
        access.tick(now: .seconds(3601))
        #expect(ended(&access) == [2])
    }

    /// Two hours without a request.
    @Test func whoAsksForNothingHasGone() throws {
        var access = AccessEngine(AccessEngine.Settings())
        let invite = try access.invite(.test(1), at: .start)
        for id in [1, 2, 3] as [ParticipantID] {
            access.begin(id, by: id == 3 ? .common : .invite(invite.number))
            access.noteRequest(of: id, at: .start)
        }
        access.noteRequest(of: 2, at: .seconds(5000))
        func idle() -> [ParticipantID] {
            access.takeOutputs().compactMap { if case .ended(let id, _, .leaseExpired) = $0 { id } else { nil } }
        }
        access.tick(now: .seconds(7199))
        #expect(idle() == [])
        access.tick(now: .seconds(7200))
        #expect(idle() == [1] && access.nextDeadline == .seconds(12_200))
        access.noteSleep(.seconds(4000))
        #expect(access.nextDeadline == .seconds(8200))
        access.tick(now: .seconds(8200))
        #expect(idle() == [2] && access.nextDeadline == nil)
    }

    // MARK: - One person

    @Test func aLinkForOneIsThatOfTheFirst() throws {
        var access = AccessEngine(AccessEngine.Settings())
        let link = AccessEngine.Link.invite(try access.invite(.test(1) { $0.isForOne = true }, at: .start).number)
        #expect(access.entry(.test(1), by: link) == .granted(name: ""))
        expect(access.claim(link, for: .test(1)))
        expect(!access.claim(link, for: .test(1)))
        #expect(access.entry(.test(1), by: link) == .granted(name: ""))
        #expect(access.entry(.test(2), by: link) == .taken && access.entry(nil, by: link) == .taken)
        access.release(link)
        expect(access.claim(link, for: nil))
        #expect(access.entry(nil, by: link) == .taken, "a program cannot be recognized")
        access.release(.common)
        expect(!access.claim(.common, for: .test(1)))
    }

    // MARK: - Limits

    @Test func thereAreNotTooMany() throws {
        var access = AccessEngine(AccessEngine.Settings())
        for number in 1...Invites.most { _ = try access.invite(.test(number), at: .start) }
        #expect(throws: InviteRefusal.full(Invites.most)) { try access.invite(.test(0), at: .start) }
        _ = access.revoke(at: .start) { $0.number == 7 }
        #expect(try access.invite(.test(0) { $0.name = "Ann" }, at: .start).number == Invites.most + 1)
        _ = access.revoke(at: .start) { $0.number == 8 }
        #expect(throws: InviteRefusal.taken("Ann")) { try access.invite(.test(9999) { $0.name = "Ann" }, at: .start) }
        #expect(throws: InviteRefusal.taken("")) { try access.invite(.test(9), at: .start) }
        for number in Invites.most + 2...Invites.mostMade {
            _ = access.revoke(at: .start) { $0.number == number - 1 }
            _ = try access.invite(.test(number), at: .start)
        }
        _ = access.revoke(at: .start) { _ in true }
        #expect(throws: InviteRefusal.spent(Invites.mostMade)) { try access.invite(.test(1), at: .start) }
    }
}

/// Against a list of invitations and of those who came by them, which is searched anew for each question.
@Suite struct InviteWalkTests {
    private struct Known {
        let number: Int
        let name: String
        let rights: Rights
        let end: Duration?
        var holder: Invite.Holder
        var isThere = true
    }

    /// Time that the machine has spent awake and asleep.
    private struct Walk {
        var awake = Duration.zero
        var asleep = Duration.zero
        var invites: [Known] = []
        var present: [ParticipantID: (link: AccessEngine.Link, askedAt: Duration)] = [:]
        var now: Instant { .start + awake }
        var age: Duration { awake + asleep }

        mutating func takeDue() -> [ParticipantID: GrantEnd] {
            var due: [ParticipantID: GrantEnd] = [:]
            for index in invites.indices {
                if let end = invites[index].end, age >= end { invites[index].isThere = false }
            }
            for (id, someone) in present {
                guard case .invite(let number) = someone.link else { continue }
                if !(invites.first { $0.number == number }?.isThere ?? false) {
                    due[id] = .revoked
                } else if age >= someone.askedAt + .seconds(7200) {
                    due[id] = .leaseExpired
                }
            }
            for id in due.keys { present[id] = nil }
            return due
        }
    }

    @Test(arguments: 1...1000 as ClosedRange<UInt64>)
    func theEngineAgreesWithAList(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        var access = AccessEngine(AccessEngine.Settings())
        var walk = Walk()
        var nextID = 1
        for step in 1...60 {
            if Int.random(in: 0..<8, using: &random) == 0 {
                walk.asleep += .seconds(Int.random(in: 0...3000, using: &random))
                access.noteSleep(walk.asleep)
            }
            walk.awake += .milliseconds(Int.random(in: 0...1_500_000, using: &random))
            access.tick(now: walk.now)
            let due = walk.takeDue()
            expect(ends(&access) == due)
            for id in due.keys { access.end(id, at: walk.now) }
            let known = walk.invites.randomElement(using: &random)
            switch Int.random(in: 0..<7, using: &random) {
            case 0, 1: try make(step, in: &access, &walk, &random)
            case 2, 3: try come(&nextID, by: known, in: &access, &walk, &random)
            case 4:
                if let id = walk.present.keys.sorted().randomElement(using: &random) {
                    let age = walk.age
                    walk.present[id]?.askedAt = age
                    access.noteRequest(of: id, at: walk.now)
                }
            case 5:
                if let id = walk.present.keys.sorted().randomElement(using: &random) {
                    walk.present[id] = nil
                    access.end(id, at: walk.now)
                }
            default:
                guard let known, Bool.random(using: &random) else { break }
                let ended = access.revoke(at: walk.now) { $0.number == known.number }
                let index = walk.invites.firstIndex { $0.number == known.number }!
                #expect(ended.map(\.number) == (walk.invites[index].isThere ? [known.number] : []))
                walk.invites[index].isThere = false
                expect(ends(&access) == walk.takeDue())
            }
            #expect(access.listedInvites.map(\.number) == walk.invites.filter(\.isThere).map(\.number))
            for invite in access.listedInvites {
                let there = walk.present.filter { $0.value.link == .invite(invite.number) }.keys.sorted()
                #expect(access.invited[invite.number] ?? [] == there)
            }
        }
    }

    private func ends(_ access: inout AccessEngine) -> [ParticipantID: GrantEnd] {
        var ends: [ParticipantID: GrantEnd] = [:]
        for case .ended(let id, _, let end) in access.takeOutputs() {
            #expect(ends[id] == nil, "once")
            ends[id] = end
        }
        return ends
    }

    private func make(
        _ step: Int,
        in access: inout AccessEngine,
        _ walk: inout Walk,
        _ random: inout SplitMix
    ) throws {
        let seconds = [nil, 10, 600, 20_000].randomElement(using: &random)!
        let isForOne = Bool.random(using: &random)
        let rights: Rights = Bool.random(using: &random) ? [.watch] : [.watch, .hear, .talk]
        let invite = try access.invite(
            .test(step) { wish in
                (wish.name, wish.rights, wish.length) = ("\(step)", rights, seconds.map { .seconds($0) })
                wish.isForOne = isForOne
            },
            asleep: walk.asleep,
            at: walk.now
        )
        #expect(invite.number == walk.invites.count + 1)
        walk.invites.append(
            Known(
                number: invite.number,
                name: "\(step)",
                rights: rights,
                end: seconds.map { walk.age + .seconds($0) },
                holder: isForOne ? .nobody : .anybody
            )
        )
    }

    private func come(
        _ nextID: inout Int,
        by known: Known?,
        in access: inout AccessEngine,
        _ walk: inout Walk,
        _ random: inout SplitMix
    ) throws {
        let link = known.map { AccessEngine.Link.invite($0.number) } ?? .common
        let key: GuestKey? = Bool.random(using: &random) ? .test(Int.random(in: 1...3, using: &random)) : nil
        let entry = access.entry(key, by: link)
        let isItsOwn = key.map { known?.holder == .browser($0) } ?? false
        let wanted: AccessEngine.Entry
        switch known {
        case nil: wanted = .granted(name: "")
        case let known? where !known.isThere: wanted = .over
        case let known?:
            let isFree = known.holder == .anybody || known.holder == .nobody || isItsOwn
            wanted = isFree ? .granted(name: known.name) : .taken
        }
        #expect(entry == wanted)
        guard case .granted = entry else { return }
        #expect(known == nil || access.rights(by: link) == known?.rights)
        let isClaimed = access.claim(link, for: key)
        #expect(isClaimed == (known?.holder == .nobody))
        if isClaimed {
            let index = walk.invites.firstIndex { $0.number == known!.number }!
            if Bool.random(using: &random) {
                // The offer was of no use.
                return access.release(link)
            }
            walk.invites[index].holder = key.map { .browser($0) } ?? .unknown
        }
        let id = ParticipantID(nextID)
        nextID += 1
        access.begin(id, guest: key, by: link)
        access.noteRequest(of: id, at: walk.now)
        walk.present[id] = (link, walk.age)
    }
}
