import Glibc
import JSON
import Posix
import TestSupport
import Testing
import Time

@testable import Access

/// Invitations over a crash of their sender.
@Suite struct InviteJournalTests {
    private let home: TemporaryDirectory
    private let state: StateFolder
    private static let boot = "0d7f5c9e-0000-4000-8000-000000000001"

    init() throws {
        home = try TemporaryDirectory()
        let path = home.path
        state = try StateFolder(for: "invitations") { $0 == "HOME" ? path : nil }
    }

    private static func clocks(boot: String = boot, now: Double = 1000, date: UInt64 = 5000) -> InviteClocks {
        InviteClocks(boot: boot, now: .seconds(now), date: date * 1_000_000_000)
    }

    /// Nil if another sender has the journal.
    private func open(
        goesOn: Bool = true,
        _ clocks: InviteClocks = clocks()
    ) throws -> (journal: InviteJournal, invites: [Invite], ignored: Int)? {
        try InviteJournal.open("main-8080", in: state, goesOn: goesOn) { clocks }
    }

    private var path: String { "\(state.path)/invites/main-8080" }

    private func text() throws -> String {
        String(decoding: try FileDescriptor.open(path, O_RDONLY).readBytes(1 << 20), as: UTF8.self)
    }

    /// A sender with its journal, to which each change goes at once.
    private func sender(_ opened: (journal: InviteJournal, invites: [Invite], ignored: Int)) -> AccessControl {
        var settings = AccessEngine.Settings()
        settings.invites = opened.invites
        let access = AccessControl(settings, token: "secret")
        var outlets = AccessControl.Outlets(wake: {}, tell: { _ in })
        let journal = opened.journal
        outlets.keep = { change in
            do { try journal.note(change) } catch { Issue.record(error) }
        }
        access.begin(outlets)
        return access
    }

    @Test func whatASenderHadItsSuccessorHas() throws {
        var made: [Invite] = []
        do {
            let opened = try #require(try open())
            #expect(opened.invites.isEmpty && opened.ignored == 0)
            let access = sender(opened)
            // By the clock that counts suspends, it is now second 1000.
            access.change { engine, _ in
                for number in 1...4 {
                    _ = try! engine.invite(
                        .test(number) { wish in
                            (wish.name, wish.isForOne) = (number == 1 ? "Ann \"\u{1B}é" : "", number > 1)
                            wish.length = number == 4 ? nil : .seconds(number * 100)
                        },
                        at: .seconds(1000)
                    )
                }
                for (number, key) in [(2, .test(7)), (3, nil)] as [(Int, GuestKey?)] {
                    _ = engine.claim(.invite(number), for: key)
                    engine.confirm(.invite(number))
                }
                // Nobody came in.
                _ = engine.claim(.invite(4), for: .test(8))
                engine.release(.invite(4))
            }
            made = access.read(\.listedInvites)
            #expect(made.count == 4)
            #expect(try text().split(separator: "\n").count == 6, "offers that failed leave nothing")
            #expect(try open() == nil, "it is in use")
        }
        let info = try FileDescriptor.open(path, O_RDONLY).status()
        #expect(info.st_mode & 0o777 == 0o600)
        #expect(try #require(try open()).invites == made)
        // A clock that is set changes nothing within one boot.
        for date in [0, 1, 1 << 33] as [UInt64] {
            #expect(try #require(try open(Self.clocks(date: date))).invites == made, "\(date)")
        }
        #expect(try #require(try open(Self.clocks(now: 1250))).invites.map(\.number) == [3, 4])
        #expect(try #require(try open(goesOn: false, Self.clocks(now: 1250))).invites.map(\.number) == [3])
        #expect(try #require(try open()).invites.map(\.number) == [3], "the others are forgotten")
    }

    @Test func theGateLetsInWhoWasInvitedBefore() throws {
        do {
            let access = sender(try #require(try open()))
            access.change { engine, _ in
                for number in 1...2 { _ = try! engine.invite(.test(number), at: .seconds(1000)) }
                _ = engine.revoke(at: .seconds(1000)) { $0.number == 1 }
            }
        }
        let access = sender(try #require(try open()))
        func check(_ number: Int) -> TokenGuard.Decision {
            access.atGate { gate, now in
                gate.token.check("Bearer x", from: "192.0.2.1", hash: { _ in .test(number) }, now: now)
            }
        }
        #expect(check(1) == .wrongToken && check(2) == .invited(2) && check(3) == .wrongToken)
        access.change { engine, _ in _ = try! engine.invite(.test(3), at: .seconds(1000)) }
        #expect(check(3) == .invited(3))
        access.change { engine, now in _ = engine.revoke(at: now) { _ in true } }
        #expect(check(2) == .wrongToken && check(3) == .wrongToken)
    }

    /// After another boot the date counts. None holds longer than it was made for.
    @Test(
        arguments: [
            (4000, 1100), (5000, 1100), (5040, 1060), (5099, 1001), (5100, nil), (9999, nil),
        ] as [(UInt64, Double?)]
    )
    func afterAnotherBootTheDateCounts(date: UInt64, end: Double?) throws {
        do {
            let access = sender(try #require(try open()))
            access.change { engine, _ in
                _ = try! engine.invite(.test(1) { $0.length = .seconds(100) }, at: .seconds(1000))
            }
        }
        for boot in ["another", ""] {
            let kept = try #require(try open(Self.clocks(boot: boot, now: 1000, date: date))).invites
            #expect(kept.map(\.end) == (end.map { [.seconds($0)] } ?? []), "\(boot)")
            if end == nil { break }
        }
    }

    /// A line that was torn, or made up, lets nobody in, and takes nothing from the others.
    @Test func linesThatMakeNoSenseDoNotCount() throws {
        do {
            let access = sender(try #require(try open()))
            access.change { engine, _ in
                for number in 1...3 { _ = try! engine.invite(.test(number), at: .seconds(1000)) }
            }
        }
        let lines = try text().split(separator: "\n").map { String($0) }
        #expect(lines.count == 3)
        let hash = TokenHash.test(9).rawValue
        func made(_ number: Any, token: String = hash, rights: String = "\"watch\"", end: String = "") -> String {
            "{\"made\":{\"invite\":{\"number\":\(number),\"name\":\"\",\"token\":\"\(token)\",\"rights\":[\(rights)],"
                + "\"isForOne\":false\(end)}}}"
        }
        // The others differ from this by one mistake.
        _ = try InviteRecord(jsonLine: made(9))
        let hostile = [
            "", "{}", "[]", "null", "{\"made\":{}}", made(0), made(-1), made(Int.max), made("\"1\""), made(1),
            made(9, token: TokenHash.test(1).rawValue), made(9, token: "secret"), made(9, rights: ""),
            made(9, rights: "\"hear\""), made(9, rights: "\"watch\",\"everything\""), made(1.5),
            made(9, end: ",\"end\":{\"boot\":\"\",\"nanoseconds\":-1,\"date\":0,\"length\":0}"),
            String(repeating: "[", count: 10_000), "{\"claimed\":{\"number\":2}}x", "\u{0}\u{0}",
        ]
        try FileDescriptor.open(path, O_WRONLY | O_TRUNC)
            .write((lines[...1] + hostile + [lines[2]]).joined(separator: "\n") + "\n" + lines[0].prefix(40))
        let opened = try #require(try open())
        #expect(opened.invites.map(\.number) == [1, 2, 3])
        #expect(opened.ignored == hostile.count - 1 + 1, "the empty line is none")
        #expect(try text().split(separator: "\n").count == 3, "the file is whole again")
    }

    /// A journal that somebody has filled is read to a bound.
    @Test func endlessLinesAreNotRead() {
        let most = InviteRecord.mostLines
        let made = InviteRecord.records(
            of: Invite(number: 1, name: "", token: .test(1), rights: .watch, end: nil, holder: .anybody),
            Self.clocks()
        )
        let line = (try? made[0].jsonLine()) ?? ""
        for (fill, isRead) in [(most - 1, true), (most, false)] {
            let text = String(repeating: "x\n", count: fill) + line + "\n"
            let (invites, ignored) = InviteRecord.invites(in: text, Self.clocks(), goesOn: true)
            #expect(invites.count == (isRead ? 1 : 0) && ignored == fill + (isRead ? 0 : 1))
        }
    }

    /// Each byte of a journal is changed in turn: reading ends, nothing has more rights than before, and no token is another.
    @Test(arguments: 1...20 as ClosedRange<UInt64>) func changedBytesGiveNoRights(seed: UInt64) throws {
        var random = SplitMix(seed: seed)
        let invites = (1...20).map { number in
            Invite(
                number: number,
                name: "Ann",
                token: .test(number),
                rights: [.watch, .hear],
                end: number.isMultiple(of: 2) ? .seconds(2000) : nil,
                holder: number.isMultiple(of: 3) ? .browser(.test(number)) : .anybody
            )
        }
        let records = invites.flatMap { InviteRecord.records(of: $0, Self.clocks()) }
        let text = Array(try records.map { try $0.jsonLine() + "\n" }.joined().utf8)
        let tokens = Set(invites.map(\.token))
        for _ in 0..<300 {
            var changed = text
            for _ in 0..<Int.random(in: 1...4, using: &random) {
                let index = changed.indices.randomElement(using: &random)!
                switch Int.random(in: 0..<3, using: &random) {
                case 0: changed[index] = UInt8.random(in: .min ... .max, using: &random)
                case 1:
                    changed.removeSubrange(index..<min(index + Int.random(in: 1...80, using: &random), changed.count))
                default: changed.insert(contentsOf: changed[index...].prefix(50), at: index)
                }
                if changed.isEmpty { changed = text }
            }
            let (kept, _) = InviteRecord.invites(
                in: String(decoding: changed, as: UTF8.self),
                Self.clocks(),
                goesOn: true
            )
            #expect(Set(kept.map(\.number)).count == kept.count && Set(kept.map(\.token)).count == kept.count)
            for invite in kept { #expect(invite.rights.isSubset(of: [.watch, .hear])) }
            #expect(kept.count { !tokens.contains($0.token) } <= 4, "by digits that were changed")
        }
    }

    /// On a full disk an invitation that was taken back does not come again.
    @Test func aJournalThatCannotBeWrittenIsEmptied() throws {
        let file = try FileDescriptor.memory("journal")
        let reader = dup(file.raw)
        defer { close(reader) }
        func size() throws -> Int { Int(try FileDescriptor(taking: dup(reader)).status().st_size) }
        let journal = InviteJournal(file, "/invites/main") { Self.clocks() }
        let invite = Invite(number: 1, name: "", token: .test(1), rights: .watch, end: nil, holder: .anybody)
        try journal.note(.made(invite))
        #expect(try size() > 100)
        // From now on it may not grow (F_ADD_SEALS, F_SEAL_GROW).
        #expect(fcntl(reader, 1033, 4) == 0)
        do {
            try journal.note(.ended(invite))
            Issue.record("it has grown")
        } catch {
            let sentence =
                "cannot keep invitations in /invites/main (Operation not permitted): those of now end with this sender"
            #expect("\(error)" == sentence)
        }
        #expect(try size() == 0)
        try journal.note(.made(invite))
        #expect(try size() == 0, "it stays so")
    }

    /// Those of other broadcasts, once nothing of them holds, and of none that is there.
    @Test func whatHasEndedIsRemoved() throws {
        func open(_ name: String, _ now: Double = 1000) throws -> (
            journal: InviteJournal, invites: [Invite], ignored: Int
        ) {
            try #require(try InviteJournal.open(name, in: state, goesOn: true) { Self.clocks(now: now) })
        }
        var held: [InviteJournal] = [try open("empty-and-there").journal]
        for (name, length) in [("endless", nil), ("short", 100), ("long", 1000), ("empty", 0)] as [(String, Int?)] {
            let access = sender(try open(name))
            if length == 0 { continue }
            access.change { engine, _ in
                _ = try! engine.invite(.test(1) { $0.length = length.map { .seconds($0) } }, at: .seconds(1000))
            }
        }
        let left = try FileDescriptor.open("\(state.path)/invites/endless", O_RDONLY).readBytes(1 << 16)
        try FileDescriptor.open("\(state.path)/invites/killed.7.part", O_WRONLY | O_CREAT)
            .write(String(decoding: left, as: UTF8.self))
        try FileDescriptor.open("\(state.path)/invites/of-others", O_WRONLY | O_CREAT).write("x")
        chmod("\(state.path)/invites/of-others", 0o644)
        held.append(try open("own", 1500).journal)
        let names = try FileDescriptor.open("\(state.path)/invites", O_RDONLY).entries().filter { !$0.hasPrefix(".") }
        #expect(Set(names) == ["empty-and-there", "endless", "long", "of-others", "own"])
        withExtendedLifetime(held) {}
    }

    @Test func aFileOfOthersIsNotRead() throws {
        _ = try open()
        chmod(path, 0o640)
        #expect(throws: InviteJournal.Failure.self) { try open() }
        unlink(path)
        symlink("/etc/passwd", path)
        #expect(throws: InviteJournal.Failure.self) { try open() }
    }
}
