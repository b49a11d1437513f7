import ICE
import TestSupport
import Testing
import Time

@Suite struct ServerProbeTests {
    /// A probe in virtual time, and the server's side of it.
    private struct Scene {
        static let (username, password) = ("u", "p")
        static let challenge: [STUNAttribute] = [.realm(Array("test".utf8)), .nonce(Array("one".utf8))]

        var now = Instant.seconds(100)
        var probe: ServerProbe

        init(_ service: ServerProbe.Service = .turn(username: username, password: password), isStream: Bool = false) {
            probe = ServerProbe(service, isStream: isStream, now: now)
        }

        /// The next request.
        mutating func request() throws -> STUNMessage {
            let bytes = try bytes()
            return try #require(STUNMessage(parsing: bytes))
        }

        mutating func bytes() throws -> [UInt8] {
            let output = probe.takeOutput()
            return try #require(output)
        }

        mutating func answer(
            _ request: STUNMessage,
            _ kind: STUNMessage.Class,
            _ attributes: [STUNAttribute] = [],
            key: [UInt8]? = nil
        ) {
            let answer = STUNMessage(kind, request.method, attributes, transaction: request.transaction)
            probe.receive(answer.encoded(key: key), at: now)
        }

        mutating func refuse(
            _ request: STUNMessage,
            _ code: Int,
            _ reason: String = "",
            _ attributes: [STUNAttribute] = []
        ) {
            answer(request, .error, [.errorCode(code, reason: Array(reason.utf8))] + attributes)
        }

        static func key(password: String = Self.password) -> [UInt8] {
            longTermKey(username: Array(username.utf8), realm: Array("test".utf8), password: password)
        }

        /// Up to the request with the login.
        mutating func challenged() throws -> STUNMessage {
            refuse(try request(), 401, "Unauthorized", Self.challenge)
            return try request()
        }

        /// Until nothing is due any more.
        ///
        /// - Returns: when each request was sent, in milliseconds from now.
        mutating func waitOut() -> [Double] {
            let start = now
            var sent: [Double] = []
            while true {
                while probe.takeOutput() != nil { sent.append((now - start) / .milliseconds(1)) }
                guard let deadline = probe.deadline else { return sent }
                now = deadline
                probe.tick(at: now)
            }
        }
    }

    @Test func aServerThatTellsAnAddressWorks() throws {
        var scene = Scene(.stun)
        let request = try scene.request()
        #expect(request.kind == .request && request.method == .binding && request.attributes.isEmpty)
        #expect(!scene.probe.isOver && scene.probe.result == nil)
        scene.answer(request, .success)
        #expect(scene.probe.result == .works && scene.probe.isOver && scene.probe.deadline == nil)
    }

    /// A TURN server may want a login for a binding, too.
    @Test func aServerThatWantsALoginForABindingWorks() throws {
        var scene = Scene(.stun)
        scene.refuse(try scene.request(), 401, "Unauthorized")
        #expect(scene.probe.result == .works && scene.probe.isOver)
    }

    @Test func aServerThatRefusesABindingDoesNot() throws {
        var scene = Scene(.stun)
        scene.refuse(try scene.request(), 403, "Forbidden")
        #expect(scene.probe.result == .refused(code: 403, reason: "Forbidden") && scene.probe.isOver)
    }

    @Test func requestsAreSentAgainUntilTheyAreGivenUp() {
        var scene = Scene(.stun)
        let sent = scene.waitOut()
        #expect(sent == [0, 500, 1500])
        #expect(scene.probe.result == .noAnswer && scene.probe.isOver)
        #expect(scene.now == Instant.seconds(100) + .milliseconds(3500))
    }

    @Test func aStreamLosesNothing() {
        var scene = Scene(isStream: true)
        let sent = scene.waitOut()
        #expect(sent == [0])
        #expect(scene.probe.result == .noAnswer && scene.probe.isOver)
    }

    /// No relay keeps what nobody uses.
    @Test func anAllocationIsGivenBack() throws {
        var scene = Scene()
        let first = try scene.request()
        #expect(first.method == .allocate && first.attributes == [.udp])
        scene.refuse(first, 401, "Unauthorized", Scene.challenge)
        let bytes = try scene.bytes()
        let second = try #require(STUNMessage(parsing: bytes))
        #expect(STUNMessage.isAuthentic(bytes, key: Scene.key()))
        #expect(second.attributes == [.udp, .username(Array("u".utf8))] + Scene.challenge)
        scene.answer(second, .success, [.lifetime(600)], key: Scene.key())
        #expect(scene.probe.result == .works && !scene.probe.isOver)
        let release = try scene.request()
        #expect(release.method == .refresh && release.attributes.first == .lifetime(0))
        scene.answer(release, .success, [.lifetime(0)], key: Scene.key())
        #expect(scene.probe.result == .works && scene.probe.isOver)
    }

    /// It is asked for again; what the server does is known.
    @Test func aRelayThatDoesNotAnswerTheEndWorks() throws {
        var scene = Scene()
        scene.answer(try scene.challenged(), .success, [.lifetime(600)], key: Scene.key())
        let sent = scene.waitOut()
        #expect(sent == [0, 500, 1500])
        #expect(scene.probe.result == .works && scene.probe.isOver)
    }

    @Test(arguments: [401, 441]) func aWrongLoginIsTold(code: Int) throws {
        var scene = Scene()
        scene.refuse(try scene.challenged(), code, "Unauthorized", Scene.challenge)
        #expect(scene.probe.result == .wrongLogin && scene.probe.isOver)
    }

    @Test func aLoginThatCannotBeWrittenIsWrong() {
        let scene = Scene(.turn(username: String(repeating: "u", count: 509), password: "p"))
        #expect(scene.probe.result == .wrongLogin && scene.probe.isOver)
    }

    @Test(arguments: [403, 437, 442, 486, 508]) func aRefusalIsQuotedInOneShortLine(code: Int) throws {
        var scene = Scene()
        let reason = "No\u{1B}[31m way\r\nsecond line " + String(repeating: "x", count: 400)
        scene.refuse(try scene.challenged(), code, reason)
        #expect(scene.probe.result == .refused(code: code, reason: "No[31m way") && scene.probe.isOver)
        var long = Scene()
        long.refuse(try long.challenged(), code, String(repeating: "x", count: 400))
        #expect(long.probe.result == .refused(code: code, reason: String(repeating: "x", count: 60)))
    }

    /// Without a realm there is nothing to log in with.
    @Test func aChallengeWithoutARealmIsARefusal() throws {
        var scene = Scene()
        scene.refuse(try scene.request(), 401, "Unauthorized")
        #expect(scene.probe.result == .refused(code: 401, reason: "Unauthorized"))
    }

    @Test func anotherNonceIsTakenTwice() throws {
        var scene = Scene()
        var request = try scene.challenged()
        for nonce in ["two", "three"] {
            scene.refuse(request, 438, "Stale Nonce", [.realm(Array("test".utf8)), .nonce(Array(nonce.utf8))])
            request = try scene.request()
            #expect(request.attributes.contains(.nonce(Array(nonce.utf8))))
        }
        scene.refuse(request, 438, "Stale Nonce", Scene.challenge)
        #expect(scene.probe.result == .refused(code: 438, reason: "Stale Nonce") && scene.probe.isOver)
    }

    @Test func whatOthersSendCountsForNothing() throws {
        var scene = Scene()
        let request = try scene.challenged()
        scene.probe.receive(Array("no STUN at all".utf8), at: scene.now)
        scene.answer(STUNMessage(.request, .allocate), .success, [.lifetime(600)], key: Scene.key())
        scene.answer(request, .success, [.lifetime(600)], key: Scene.key(password: "guessed"))
        scene.answer(request, .success, [.lifetime(600)])
        scene.answer(request, .indication)
        let output = scene.probe.takeOutput()
        #expect(scene.probe.result == nil && output == nil)
        scene.answer(request, .success, [.lifetime(600)], key: Scene.key())
        #expect(scene.probe.result == .works)
    }

    @Test func aStreamMayComeInPieces() throws {
        var scene = Scene(isStream: true)
        let request = try scene.request()
        let refusal = STUNMessage(
            .error,
            .allocate,
            [.errorCode(401, reason: [])] + Scene.challenge,
            transaction: request.transaction
        )
        let bytes = STUNMessage(.indication, .binding).encoded() + refusal.encoded()
        for byte in bytes { scene.probe.receive([byte], at: scene.now) }
        let login = try scene.request()
        #expect(login.attributes.contains(.username(Array("u".utf8))))
        scene.refuse(login, 486, "Allocation Quota Reached")
        #expect(scene.probe.result == .refused(code: 486, reason: "Allocation Quota Reached"))
    }

    @Test func aStreamOfSomethingElseIsToldApart() throws {
        var scene = Scene(isStream: true)
        _ = try scene.request()
        scene.probe.receive(Array("HTTP/1.1 400 Bad Request\r\n".utf8), at: scene.now)
        #expect(scene.probe.result == .otherProtocol && scene.probe.isOver)
    }

    @Test func aConnectionThatIsLostIsNoAnswer() throws {
        var scene = Scene(isStream: true)
        _ = try scene.request()
        scene.probe.end(.noAnswer)
        #expect(scene.probe.result == .noAnswer && scene.probe.isOver)
    }
}
