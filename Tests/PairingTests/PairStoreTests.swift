import Glibc
import Posix
import Sodium
import TestSupport
import Testing

@testable import Pairing

@Suite struct PairStoreTests {
    private let home: TemporaryDirectory
    private let store: PairStore
    private let time = "2026-11-30T12:00:00Z"

    init() throws {
        home = try TemporaryDirectory()
        let path = home.path
        store = try PairStore { $0 == "XDG_STATE_HOME" ? path : nil }
    }

    private func newPair(_ name: String) -> PairingSession.NewPair {
        PairingSession.NewPair(
            secret: Randomness.bytes(32),
            resolvingKey: Randomness.bytes(32),
            name: name,
            hasBegun: true
        )
    }

    private func text(_ name: String) throws -> String {
        String(
            decoding: try FileDescriptor.open(home.file("oriel/nearby/\(name)"), O_RDONLY).readBytes(1 << 20),
            as: UTF8.self
        )
    }

    private func write(_ text: String, to name: String, mode: mode_t = 0o600) throws {
        let path = home.file("oriel/nearby/\(name)")
        unlink(path)
        try FileDescriptor.open(path, O_WRONLY | O_CREAT).write(text)
        chmod(path, mode)
    }

    @Test func theIdentityStays() throws {
        let key = try store.resolvingKey()
        #expect(try store.resolvingKey() == key && key.count == 32)
        let info = try FileDescriptor.open(home.file("oriel/nearby/identity"), O_RDONLY).status()
        #expect(info.st_mode & 0o777 == 0o600)
        let renewed = try store.renewResolvingKey()
        #expect(try renewed != key && store.resolvingKey() == renewed)
    }

    @Test func pairsAreKept() throws {
        #expect(try store.pairs().isEmpty)
        #expect(access(home.file("oriel"), F_OK) != 0, "nothing is made in vain")
        let (desk, tablet) = (newPair("desk"), newPair("tablet"))
        let added = try store.add(desk, at: time)
        try store.add(tablet, at: time)
        #expect(added.state == .pending && added.rights == PairRight.usual && added.secret == desk.secret)
        #expect(try store.pairs().map(\.name) == ["desk", "tablet"] && store.pairs()[0] == added)
        let info = try FileDescriptor.open(store.path, O_RDONLY).status()
        #expect(info.st_mode & 0o777 == 0o600)
        let isChanged = try store.change(desk.id) { pair in
            var pair = pair
            (pair.state, pair.rights) = (.paired, [.call])
            for number in 1...6 { pair.note(address: "192.0.2.\(number):5", at: time) }
            pair.note(address: "192.0.2.5:5", at: time)
            return pair
        }
        let changed = try store.pairs()[0]
        #expect(isChanged && changed.state == .paired && changed.rights == [.call] && changed.seen == time)
        #expect(changed.addresses == ["192.0.2.5:5", "192.0.2.6:5", "192.0.2.4:5", "192.0.2.3:5"])
        #expect(try !store.change(PairID(secret: [])) { $0 })
        // A device that claims to be another one replaces nothing.
        #expect(try store.rename(desk.id, to: "Ann's"))
        let claim = PairingSession.NewPair(
            secret: Randomness.bytes(32),
            resolvingKey: desk.resolvingKey,
            name: "Ann's",
            hasBegun: false
        )
        let again = try store.add(claim, at: time)
        #expect(try again.name == "Ann's (2)" && again.state == .pending && store.pairs()[0].secret == desk.secret)
        #expect(try store.change(again.id) { _ in nil })
        #expect(try store.change(tablet.id) { _ in nil })
        #expect(try store.pairs().map(\.name) == ["Ann's"])
    }

    /// Names are not identities: several devices may call themselves the same, or whatever they like.
    @Test func namesAreMadeOneOfAKind() throws {
        for _ in 0..<3 { try store.add(newPair("desk"), at: time) }
        #expect(try store.pairs().map(\.name) == ["desk", "desk (2)", "desk (3)"])
        let third = try store.pairs()[2].id
        #expect(try store.rename(third, to: "desk"))
        #expect(try store.pairs()[2].name == "desk (3)")
        for (name, shown) in [
            ("", "device"), ("\u{1B}[2J", "[2J"), (" a \n b ", "a b"), ("\u{202E}ab", "ab"), ("很好", "很好"),
            ("\n", "device"),
            ("\u{2060}", "device"), ("de\u{200B}sk", "desk"), ("\u{200D}", "device"),
            ("\u{1F468}\u{200D}\u{1F469}", "\u{1F468}\u{200D}\u{1F469}"),
            (String(repeating: "é", count: 10_000), String(repeating: "é", count: 60)),
        ] {
            #expect(PairStore.shown(name) == shown)
        }
    }

    /// One sentence, nothing is known, and nothing is lost.
    @Test(
        arguments: [
            "x", "{}\n", "[]\n", "\u{0}", "\n", #"{"device":"00"}"#, String(repeating: "{}\n", count: 257),
            String(repeating: " ", count: 1 << 19 + 1),
        ]
    )
    func damageIsToldAndKept(damage: String) throws {
        try store.add(newPair("desk"), at: time)
        let before = try text("pairs")
        try write(before + damage, to: "pairs")
        #expect(throws: PairStoreError.damaged(path: store.path)) { try store.pairs() }
        #expect(throws: PairStoreError.damaged(path: store.path)) { try store.add(newPair("tablet"), at: time) }
        #expect(try text("pairs") == before + damage)
        try write(String(before.dropLast()), to: "pairs")
        #expect(throws: PairStoreError.damaged(path: store.path)) { try store.pairs() }
        // A device that is there twice.
        try write(before + before, to: "pairs")
        #expect(throws: PairStoreError.damaged(path: store.path)) { try store.pairs() }
        try write(before, to: "pairs")
        #expect(try store.pairs().map(\.name) == ["desk"])
        try write(damage, to: "identity")
        #expect(throws: PairStoreError.damaged(path: home.file("oriel/nearby/identity"))) { try store.resolvingKey() }
    }

    /// A byte of a line: the file is damaged, or has another pair.
    @Test func damagedLinesAreFound() throws {
        try store.add(newPair("desk"), at: time)
        let line = Array(try text("pairs").utf8)
        var random = SplitMix(seed: 4)
        for _ in 0..<400 {
            var bytes = line
            bytes[Int.random(in: 0..<line.count, using: &random)] = .random(in: 0...127, using: &random)
            try write(String(decoding: bytes, as: UTF8.self), to: "pairs")
            if let pairs = try? store.pairs() {
                #expect(pairs.count == 1 && pairs[0].secret.count == 32 && pairs[0].resolvingKey.count == 32)
            }
        }
    }

    @Test func filesOfOthersAreRefused() throws {
        try store.add(newPair("desk"), at: time)
        _ = try store.resolvingKey()
        for mode in [0o644, 0o660, 0o604] as [mode_t] {
            for name in ["pairs", "identity"] {
                let path = home.file("oriel/nearby/\(name)")
                chmod(path, mode)
                #expect(throws: PairStoreError.self) {
                    if name == "pairs" { _ = try store.pairs() } else { _ = try store.resolvingKey() }
                }
                chmod(path, 0o600)
            }
        }
        unlink(store.path)
        mkdir(store.path, 0o700)
        #expect(throws: PairStoreError.self) { try store.pairs() }
    }

    @Test func thereIsAnEndToThem() throws {
        for number in 0..<PairStore.mostPairs { try store.add(newPair("\(number)"), at: time) }
        #expect(throws: PairStoreError.full) { try store.add(newPair("one more"), at: time) }
        #expect(try store.pairs().count == PairStore.mostPairs)
    }
}
