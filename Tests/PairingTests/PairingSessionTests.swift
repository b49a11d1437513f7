import Sodium
import TestSupport
import Testing
import Time

@testable import Pairing

/// Two devices that pair, over a wire that a test holds.
private struct Meeting {
    /// What a device has at the end.
    struct Device {
        var session: PairingSession
        let resolvingKey: [UInt8]
        var stored: PairingSession.NewPair?
        var isPaired = false
        var isUnconfirmed = false
        var isCodeUsed = false
        var isCodeWrong = false
        var failure: PairingFailure?
        /// Frames on the wire from here.
        var sent: [[UInt8]] = []
        var canStore = true
        /// Whether the code was not tried yet.
        var canTry = true

        mutating func poll() {
            while let output = session.nextOutput() {
                switch output {
                case .send(let bytes): sent.append(bytes)
                case .tries: if canTry { session.confirm() } else { session.fail(.busy) }
                case .usesCode: isCodeUsed = true
                case .wrongCode: isCodeWrong = true
                case .unconfirmed: isUnconfirmed = true
                case .store(let pair):
                    if canStore { stored = pair }
                    session.noteStored(canStore)
                case .paired: isPaired = true
                case .failed(let reason):
                    failure = reason
                    stored = nil
                }
            }
        }

        mutating func receive(_ bytes: [UInt8]) {
            session.receive(PairingFrame(bytes))
            poll()
        }
    }

    static let certificate = [UInt8](repeating: 0xCE, count: 32)

    var client: Device
    var server: Device
    let hellos: (client: PairingFrame.Hello, server: PairingFrame.Hello)

    /// - Parameters:
    ///   - typed, shown: the codes.
    ///   - seen: the certificate that the client sees.
    ///   - heard: the client's HELLO as the server hears it.
    init(
        typed: String = "482917",
        shown: String = "482917",
        seen: [UInt8] = certificate,
        heard: PairingFrame.Hello? = nil
    ) {
        let client = PairingFrame.Hello(nonce: Randomness.bytes(16), token: Randomness.bytes(8), name: "tablet")
        let server = PairingFrame.Hello(nonce: Randomness.bytes(16), name: "Ann's desk")
        hellos = (client, server)
        func device(
            _ role: PairingSession.Role,
            _ code: String,
            _ client: PairingFrame.Hello,
            _ certificate: [UInt8]
        ) -> Device {
            let resolvingKey = Randomness.bytes(32)
            let session = PairingSession(
                role,
                code: PairingCode(typed: code)!,
                resolvingKey: resolvingKey,
                hellos: (client, server),
                certificate: certificate,
                at: .start
            )
            return Device(session: session, resolvingKey: resolvingKey)
        }
        self.client = device(.takesCode, typed, client, seen)
        self.server = device(.showsCode, shown, heard ?? client, Self.certificate)
        self.client.poll()
        self.server.poll()
    }

    /// Carries the oldest frame of a side over. Returns whether there was one.
    mutating func carry(fromClient: Bool) -> Bool {
        if fromClient {
            guard !client.sent.isEmpty else { return false }
            server.receive(client.sent.removeFirst())
        } else {
            guard !server.sent.isEmpty else { return false }
            client.receive(server.sent.removeFirst())
        }
        return true
    }

    mutating func run() {
        while carry(fromClient: true) || carry(fromClient: false) {}
    }
}

@Suite struct PairingSessionTests {
    @Test func twoOfOneCodeArePaired() throws {
        var meeting = Meeting()
        meeting.run()
        #expect(meeting.client.isPaired && meeting.server.isPaired)
        let (ofClient, ofServer) = try (#require(meeting.client.stored), #require(meeting.server.stored))
        #expect(ofClient.secret == ofServer.secret && ofClient.secret.count == 32)
        #expect(ofClient.resolvingKey == meeting.server.resolvingKey)
        #expect(ofServer.resolvingKey == meeting.client.resolvingKey && ofClient.id == ofServer.id)
        #expect(ofClient.name == "Ann's desk" && ofServer.name == "tablet")
        #expect(ofClient.hasBegun && !ofServer.hasBegun && !meeting.server.isCodeWrong && meeting.client.isCodeUsed)
        #expect(meeting.client.session.deadline == nil && meeting.server.session.deadline == nil)
        var other = Meeting()
        other.run()
        #expect(other.client.stored?.secret != ofClient.secret)
    }

    private func expectStrangers(_ meeting: Meeting, _ what: String) {
        for device in [meeting.client, meeting.server] {
            #expect(device.stored == nil && !device.isPaired && device.failure != nil, "\(what)")
        }
    }

    @Test func aWrongCodeBurnsTheCode() {
        var meeting = Meeting(typed: "482918")
        meeting.run()
        expectStrangers(meeting, "wrong code")
        #expect(meeting.server.isCodeWrong && meeting.client.isCodeUsed)
        #expect(meeting.client.failure == .wrongCode && meeting.server.failure == .wrongCode)
    }

    /// A middleman that knows neither code nor key: its own TLS on both sides, a changed name, or the client's own frames.
    @Test func aMiddlemanGainsNothing() {
        var relayed = Meeting(seen: [UInt8](repeating: 0xBB, count: 32))
        relayed.run()
        expectStrangers(relayed, "another certificate")
        let hello = Meeting().hellos.client
        var renamed = Meeting(heard: PairingFrame.Hello(nonce: hello.nonce, token: hello.token, name: "boss"))
        renamed.run()
        expectStrangers(renamed, "another HELLO")
        var reflected = Meeting()
        while !reflected.client.sent.isEmpty { reflected.client.receive(reflected.client.sent.removeFirst()) }
        #expect(reflected.client.failure == .wrongCode && reflected.client.stored == nil)
    }

    /// Equal greetings would make equal tags.
    @Test func anEchoIsNobody() {
        let hello = PairingFrame.Hello(nonce: Randomness.bytes(16), name: "")
        for role in [PairingSession.Role.showsCode, .takesCode] {
            var session = PairingSession(
                role,
                code: .typed(),
                resolvingKey: Randomness.bytes(32),
                hellos: (hello, hello),
                certificate: [],
                at: .start
            )
            var outputs: [PairingSession.Output] = []
            while let output = session.nextOutput() { outputs.append(output) }
            #expect(outputs == [.send(PairingFrame.abort(.refused).bytes), .failed(.refused)])
        }
    }

    /// Of two runs with one code, one has the try, though the other one may be right.
    @Test func aCodeIsTriedOnce() {
        var meeting = Meeting()
        meeting.server.canTry = false
        meeting.run()
        expectStrangers(meeting, "tried already")
        #expect(meeting.client.failure == .busy && !meeting.server.isCodeWrong)
    }

    /// The identity, and what is no canonical element.
    @Test func aBadShareIsRefused() {
        for share in [[UInt8](repeating: 0, count: 32), [UInt8](repeating: 0xFF, count: 32)] {
            var meeting = Meeting()
            meeting.server.receive(PairingFrame.share(share).bytes)
            #expect(meeting.server.failure == .refused && meeting.server.stored == nil && !meeting.server.isCodeWrong)
        }
    }

    @Test func oneThatCannotStoreLeavesBothStrangers() {
        for isClient in [true, false] {
            var meeting = Meeting()
            if isClient { meeting.client.canStore = false } else { meeting.server.canStore = false }
            meeting.run()
            expectStrangers(meeting, "\(isClient)")
        }
    }

    /// A device does not pair with itself.
    @Test func itselfIsRefused() {
        var meeting = Meeting()
        meeting.server = Meeting.Device(
            session: PairingSession(
                .showsCode,
                code: PairingCode(typed: "482917")!,
                resolvingKey: meeting.client.resolvingKey,
                hellos: meeting.hellos,
                certificate: Meeting.certificate,
                at: .start
            ),
            resolvingKey: meeting.client.resolvingKey
        )
        meeting.run()
        expectStrangers(meeting, "itself")
    }

    @Test func itEndsAfterAWhile() {
        var meeting = Meeting()
        _ = meeting.carry(fromClient: true)
        let end = Instant.start + PairingSession.patience
        #expect(meeting.server.session.deadline == end)
        meeting.server.session.expire(at: end - .nanoseconds(1))
        meeting.server.poll()
        #expect(meeting.server.failure == nil)
        meeting.server.session.expire(at: end)
        meeting.server.poll()
        #expect(meeting.server.failure == .late && meeting.server.session.deadline == nil)
        meeting.run()
        #expect(meeting.client.failure == .late)
    }

    /// Frames are lost from some step on, as one side dies or the link breaks, or come twice, early or damaged; or time passes. A side that
    /// is sure has a partner that has stored the pair, and keeps it.
    @Test func bothAgreeWhateverHappens() {
        var ends: Set<String> = []
        for seed in 0..<6000 {
            var random = SplitMix(seed: UInt64(seed))
            var meeting = Meeting()
            let isDamaged = seed % 3 == 0
            for _ in 0..<Int.random(in: 0..<14, using: &random) {
                let fromClient = Bool.random(using: &random)
                if isDamaged, Int.random(in: 0..<6, using: &random) == 0 {
                    let frames = fromClient ? meeting.client.sent : meeting.server.sent
                    guard var frame = frames.randomElement(using: &random) else { continue }
                    frame[Int.random(in: 0..<frame.count, using: &random)] ^=
                        1 << UInt8.random(in: 0..<8, using: &random)
                    if fromClient { meeting.server.receive(frame) } else { meeting.client.receive(frame) }
                }
                _ = meeting.carry(fromClient: fromClient)
            }
            // One is slow, or learns that the link is gone, and the other may hear of that.
            for isClient in [Bool.random(using: &random), Bool.random(using: &random)] {
                let hears = Bool.random(using: &random)
                if isClient {
                    if hears {
                        meeting.client.session.expire(at: .start + .seconds(60))
                    } else {
                        meeting.client.session.linkLost()
                    }
                    meeting.client.poll()
                } else {
                    if hears {
                        meeting.server.session.expire(at: .start + .seconds(60))
                    } else {
                        meeting.server.session.linkLost()
                    }
                    meeting.server.poll()
                }
                if hears { _ = meeting.carry(fromClient: isClient) }
            }
            let (client, server) = (meeting.client, meeting.server)
            if let own = client.stored, let other = server.stored { #expect(own.secret == other.secret, "\(seed)") }
            if client.isPaired, !isDamaged { #expect(server.stored != nil, "\(seed)") }
            if server.isPaired, !isDamaged { #expect(client.stored != nil, "\(seed)") }
            for device in [client, server] {
                #expect(
                    !(device.isPaired && device.failure != nil) && !(device.isUnconfirmed && device.stored == nil),
                    "\(seed)"
                )
            }
            ends.insert("\(client.isPaired) \(server.isPaired) \(client.isUnconfirmed) \(server.isUnconfirmed)")
        }
        // Both are sure, one of them, or none.
        for end in [
            "true true false false", "false true true false", "true false false true", "false false false false",
        ] {
            #expect(ends.contains(end), "\(ends)")
        }
    }
}
