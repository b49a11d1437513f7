import Pairing
import Sodium
import TestSupport
import Testing
import Time

@testable import Link

/// Two ends of a link.
private struct Ends {
    static let certificate = [UInt8](repeating: 0xCE, count: 32)

    struct End {
        let resolvingKey = Randomness.bytes(32)
        var session: LinkSession?
        var door = PairingDoor()
        var attempt: PairingDoor.Attempt?
        var sent: [[UInt8]] = []
        var linked: PairID?
        var closing: LinkClosing?
        var stored: PairingSession.NewPair?
        var isPaired = false
        var isWrong = false
        var isUnconfirmed = false
        var frames: [LinkFrame] = []
        var aways: [Bool] = []

        mutating func settle(at now: Instant) {
            while let output = session?.nextOutput() {
                switch output {
                case .send(let bytes): sent.append(bytes)
                case .wantsToPair(let hello):
                    do throws(PairingFailure) {
                        let attempt = try door.admit(hello.token, at: now)
                        self.attempt = attempt
                        session?.pair(attempt.code, at: now)
                    } catch {
                        session?.refuse(error)
                    }
                case .pairing(.store(let pair)):
                    stored = pair
                    session?.noteStored(true)
                case .pairing(.tries):
                    if door.claim(attempt!, at: now) { session?.confirm() } else { session?.failPairing(.busy) }
                case .pairing(.usesCode): break
                case .pairing(.wrongCode): isWrong = true
                case .pairing(.unconfirmed): isUnconfirmed = true
                case .pairing(.paired): isPaired = true
                case .pairing(.failed): stored = nil
                case .pairing(.send): Issue.record("a frame of the pairing")
                case .linked(let device, _): linked = device
                case .frame(let frame): frames.append(frame)
                case .away(let isAway): aways.append(isAway)
                case .close(let reason): closing = reason
                }
            }
        }
    }

    var client = End()
    var server = End()
    var now = Instant.start + .seconds(10)

    mutating func begin(
        _ wish: LinkSession.Wish,
        secrets: [[UInt8]] = [],
        seen: [UInt8] = certificate
    ) {
        let (one, other) = (client.resolvingKey, server.resolvingKey)
        client.session = LinkSession(.client(wish), resolvingKey: one, name: "tablet", certificate: seen, at: now)
        server.session = LinkSession(
            .server(secrets: secrets),
            resolvingKey: other,
            name: "desk",
            certificate: Self.certificate,
            at: now
        )
        run()
    }

    mutating func run() {
        client.settle(at: now)
        server.settle(at: now)
        while !client.sent.isEmpty || !server.sent.isEmpty {
            if !client.sent.isEmpty { server.session?.receive(client.sent.removeFirst(), at: now) }
            if !server.sent.isEmpty { client.session?.receive(server.sent.removeFirst(), at: now) }
            client.settle(at: now)
            server.settle(at: now)
        }
    }

    mutating func wait(_ time: Duration) {
        now += time
        client.session?.poll(at: now)
        server.session?.poll(at: now)
        client.settle(at: now)
        server.settle(at: now)
    }
}

@Suite struct LinkSessionTests {
    private let secret = Randomness.bytes(32)

    private func strangers(_ count: Int) -> [[UInt8]] { (0..<count).map { _ in Randomness.bytes(32) } }

    @Test func pairsAreLinked() {
        var ends = Ends()
        ends.begin(.link(secret: secret), secrets: strangers(255) + [secret])
        #expect(ends.client.linked == PairID(secret: secret) && ends.server.linked == PairID(secret: secret))
        let frame = LinkFrame.call(.ringing(.random()))
        ends.server.session?.receive(frame.bytes, at: ends.now)
        ends.run()
        #expect(ends.server.frames == [frame] && ends.server.closing == nil)
        ends.server.session?.receive([0xFF], at: ends.now)
        ends.run()
        #expect(ends.server.closing == .broken && ends.server.session?.deadline == nil)
    }

    /// Neither learns more of the other than that.
    @Test func strangersAreNot() {
        var ends = Ends()
        ends.begin(.link(secret: secret), secrets: strangers(3))
        #expect(ends.server.closing == .unpaired && ends.server.linked == nil && ends.client.linked == nil)
        // A middleman has another certificate.
        var relayed = Ends()
        relayed.begin(.link(secret: secret), secrets: [secret], seen: [1])
        #expect(relayed.server.closing == .unpaired && relayed.server.linked == nil)
        // A server that only repeats what it hears.
        var client = LinkSession(
            .client(.link(secret: secret)),
            resolvingKey: ends.client.resolvingKey,
            name: "",
            certificate: [],
            at: .start
        )
        client.receive(PairingFrame.hello(PairingFrame.Hello(nonce: Randomness.bytes(16), name: "")).bytes, at: .start)
        guard case .send(let auth)? = client.nextOutput(), case .auth(_, _, let mac)? = PairingFrame(auth) else {
            Issue.record("no proof")
            return
        }
        client.receive(PairingFrame.authOK(mac: mac).bytes, at: .start)
        #expect(client.nextOutput() == .send(LinkSignal.close(.unpaired).bytes))
        #expect(client.nextOutput() == .close(.unpaired))
    }

    /// A proof that was heard on another link.
    @Test func proofsAreNotRepeated() {
        var ends = Ends()
        var client = LinkSession(
            .client(.link(secret: secret)),
            resolvingKey: ends.client.resolvingKey,
            name: "",
            certificate: Ends.certificate,
            at: .start
        )
        func server() -> (LinkSession, [UInt8]) {
            var session = LinkSession(
                .server(secrets: [secret]),
                resolvingKey: ends.server.resolvingKey,
                name: "",
                certificate: Ends.certificate,
                at: .start
            )
            guard case .send(let hello)? = session.nextOutput() else { return (session, []) }
            return (session, hello)
        }
        var (first, hello) = server()
        client.receive(hello, at: .start)
        guard case .send(let proof)? = client.nextOutput() else {
            Issue.record("no proof")
            return
        }
        first.receive(proof, at: .start)
        guard case .send? = first.nextOutput() else {
            Issue.record("it is right")
            return
        }
        var (second, _) = server()
        second.receive(proof, at: .start)
        #expect(second.nextOutput() == .send(LinkSignal.close(.unpaired).bytes))
        #expect(second.nextOutput() == .close(.unpaired))
        ends.run()
    }

    @Test func devicesPairAndAreLinkedAtOnce() throws {
        var ends = Ends()
        let opened = ends.server.door.open(at: ends.now)
        let code = try #require(opened)
        let token = try #require(ends.server.door.token)
        ends.begin(.pair(code, token: token))
        #expect(ends.client.isPaired && ends.server.isPaired)
        let kept = try #require(ends.client.stored)
        #expect(ends.client.linked == kept.id && ends.server.linked == kept.id)
        #expect(
            kept.name == "desk" && ends.server.stored?.name == "tablet" && kept.secret == ends.server.stored?.secret
        )
        // The next link needs no code.
        var again = Ends()
        again.begin(.link(secret: kept.secret), secrets: [kept.secret])
        #expect(again.client.linked != nil && again.server.linked != nil)
    }

    @Test func aWrongCodeOrTokenPairsNobody() throws {
        for (isRightToken, typed) in [(true, "000000"), (false, nil)] as [(Bool, String?)] {
            var ends = Ends()
            let opened = ends.server.door.open(at: ends.now, PairingCode(typed: "123456")!)
            let code = try #require(opened)
            let token = isRightToken ? try #require(ends.server.door.token) : Randomness.bytes(8)
            ends.begin(.pair(typed.map { PairingCode(typed: $0)! } ?? code, token: token))
            #expect(ends.client.closing == .notPaired && ends.server.closing == .notPaired)
            #expect(ends.client.stored == nil && ends.server.stored == nil && ends.server.linked == nil)
        }
        var closed = Ends()
        closed.begin(.pair(PairingCode(typed: "123456")!, token: [UInt8](repeating: 0, count: 8)))
        #expect(closed.client.closing == .notPaired && closed.server.closing == .notPaired)
    }

    /// The connection breaks while both store: one side is sure, and the other one keeps the pair until the next link.
    @Test func aBrokenConnectionLosesNoPair() throws {
        var ends = Ends()
        let opened = ends.server.door.open(at: ends.now)
        let token = try #require(ends.server.door.token)
        let client = LinkSession.Role.client(.pair(try #require(opened), token: token))
        ends.client.session = LinkSession(
            client,
            resolvingKey: ends.client.resolvingKey,
            name: "tablet",
            certificate: Ends.certificate,
            at: ends.now
        )
        ends.server.session = LinkSession(
            .server(secrets: []),
            resolvingKey: ends.server.resolvingKey,
            name: "desk",
            certificate: Ends.certificate,
            at: ends.now
        )
        ends.server.settle(at: ends.now)
        while !ends.server.isPaired {
            if !ends.client.sent.isEmpty { ends.server.session?.receive(ends.client.sent.removeFirst(), at: ends.now) }
            ends.server.settle(at: ends.now)
            if ends.server.isPaired { break }
            if !ends.server.sent.isEmpty { ends.client.session?.receive(ends.server.sent.removeFirst(), at: ends.now) }
            ends.client.settle(at: ends.now)
        }
        ends.client.session?.connectionLost()
        ends.client.settle(at: ends.now)
        #expect(ends.client.isUnconfirmed && !ends.client.isPaired && ends.client.closing != nil)
        #expect(ends.client.stored?.secret == ends.server.stored?.secret && ends.client.stored != nil)
    }

    /// In each state, all that does not belong there closes the link; nothing is stored.
    @Test func othersAreShownOut() {
        let nonce = Randomness.bytes(16)
        var later = PairingFrame.hello(PairingFrame.Hello(nonce: nonce, name: "")).bytes
        later[1] = 9
        let frames =
            [
                PairingFrame.share(nonce + nonce), .confirm(nonce + nonce + nonce + nonce),
                .ident(resolvingKey: nonce + nonce), .stored(isDone: true), .abort(.refused),
                .authOK(mac: nonce + nonce), .auth(nonce: nonce, isAnew: false, mac: nonce + nonce),
            ].map(\.bytes) + [later, [], [0xFF], [UInt8](repeating: 1, count: 70_000)]
        for frame in frames {
            for isServer in [true, false] {
                var ends = Ends()
                ends.client.session = nil
                let role = isServer ? LinkSession.Role.server(secrets: []) : .client(.link(secret: secret))
                ends.server.session = LinkSession(
                    role,
                    resolvingKey: ends.server.resolvingKey,
                    name: "",
                    certificate: [],
                    at: ends.now
                )
                ends.server.session?.receive(frame, at: ends.now)
                ends.server.settle(at: ends.now)
                #expect(ends.server.closing != nil && ends.server.stored == nil && ends.server.linked == nil)
                #expect(ends.server.session?.deadline == nil)
            }
        }
    }

    @Test func silenceIsAwayAndThenTheEnd() {
        var ends = Ends()
        ends.begin(.link(secret: secret), secrets: [secret])
        ends.wait(.seconds(30))
        // The client asks, and the server answers.
        #expect(ends.client.sent == [LinkSignal.ping.bytes] && ends.server.sent.isEmpty)
        ends.run()
        ends.wait(.seconds(59))
        #expect(ends.client.aways.isEmpty && ends.server.aways.isEmpty)
        // What both send from here on is lost.
        ends.client.sent = []
        ends.wait(.seconds(1))
        #expect(ends.client.aways == [true] && ends.server.aways == [true])
        ends.server.session?.receive(LinkSignal.ping.bytes, at: ends.now)
        ends.server.settle(at: ends.now)
        #expect(ends.server.aways == [true, false])
        ends.wait(.seconds(7139))
        #expect(ends.client.closing == nil)
        ends.wait(.seconds(1))
        #expect(ends.server.closing == nil && ends.client.closing == .goingAway)
        ends.wait(.seconds(60))
        #expect(ends.server.closing == .goingAway)
    }

    /// Both sides may look, and see within eight seconds that the other one is gone.
    @Test func aPersonWhoLooksSeesItSoon() {
        var ends = Ends()
        ends.begin(.link(secret: secret), secrets: [secret])
        ends.wait(.seconds(29))
        for end in [\Ends.client, \Ends.server] {
            let now: Instant = ends.now
            ends[keyPath: end].session?.watch(true, at: now)
            ends.wait(.zero)
            #expect(ends[keyPath: end].sent == [LinkSignal.ping.bytes])
            ends.run()
            for _ in 0..<5 {
                ends.wait(.seconds(3))
                ends.run()
            }
            #expect(ends.client.aways.isEmpty && ends.server.aways.isEmpty)
            ends.wait(.seconds(8))
            #expect(ends[keyPath: end].aways == [true])
            ends.run()
            let later: Instant = ends.now
            ends[keyPath: end].session?.watch(false, at: later)
            #expect(ends.client.aways == ends.server.aways || ends[keyPath: end].aways == [true, false])
            (ends.client.aways, ends.server.aways) = ([], [])
        }
    }

    /// The other side says why it goes; nobody is asked to close twice.
    @Test func aReasonIsTold() {
        for reason in LinkClosing.allCases {
            var ends = Ends()
            ends.begin(.link(secret: secret), secrets: [secret])
            ends.client.session?.close(reason)
            ends.run()
            #expect(ends.server.closing == reason && ends.client.closing == reason)
            #expect(LinkSignal(LinkSignal.close(reason).bytes) == .close(reason))
        }
        var early = Ends()
        early.begin(.link(secret: secret), secrets: [])
        #expect(early.client.closing == .unpaired && early.client.linked == nil)
        // Before the proof, nobody is answered.
        var stranger = Ends()
        stranger.begin(.link(secret: secret), secrets: [])
        stranger.server.session = LinkSession(
            .server(secrets: []),
            resolvingKey: stranger.server.resolvingKey,
            name: "",
            certificate: [],
            at: stranger.now
        )
        stranger.server.session?.receive(LinkSignal.ping.bytes, at: stranger.now)
        stranger.server.closing = nil
        stranger.server.settle(at: stranger.now)
        #expect(stranger.server.closing == .broken)
    }

    /// Whoever says nothing, or holds the door open, is shown out.
    @Test func greetingsDoNotLast() throws {
        var ends = Ends()
        ends.server.session = LinkSession(
            .server(secrets: []),
            resolvingKey: ends.server.resolvingKey,
            name: "",
            certificate: [],
            at: ends.now
        )
        ends.wait(.seconds(9))
        #expect(ends.server.closing == nil)
        ends.wait(.seconds(1))
        #expect(ends.server.closing == .late)
        var slow = Ends()
        _ = slow.server.door.open(at: slow.now)
        let token = try #require(slow.server.door.token)
        slow.server.session = LinkSession(
            .server(secrets: []),
            resolvingKey: slow.server.resolvingKey,
            name: "",
            certificate: [],
            at: slow.now
        )
        let hello = PairingFrame.Hello(nonce: Randomness.bytes(16), token: token, name: "")
        slow.server.session?.receive(PairingFrame.hello(hello).bytes, at: slow.now)
        slow.server.settle(at: slow.now)
        slow.wait(PairingSession.patience)
        #expect(slow.server.closing == .notPaired)
    }

    /// The first frame of the pairing may come before the answer whether to pair.
    @Test func oneFrameWaits() throws {
        var ends = Ends()
        let code = PairingCode(typed: "123456")!
        var client = LinkSession(
            .client(.pair(code, token: Randomness.bytes(8))),
            resolvingKey: ends.client.resolvingKey,
            name: "",
            certificate: [],
            at: .start
        )
        var server = LinkSession(
            .server(secrets: []),
            resolvingKey: ends.server.resolvingKey,
            name: "",
            certificate: [],
            at: .start
        )
        guard case .send(let hello)? = server.nextOutput() else {
            Issue.record("no greeting")
            return
        }
        client.receive(hello, at: .start)
        while let output = client.nextOutput() {
            if case .send(let bytes) = output { server.receive(bytes, at: .start) }
        }
        #expect(server.nextOutput().map { if case .wantsToPair = $0 { true } else { false } } == true)
        server.pair(code, at: .start)
        guard case .send(let share)? = server.nextOutput(), case .share? = PairingFrame(share) else {
            Issue.record("no share")
            return
        }
        ends.run()
    }
}
