import Calls
import Configuration
import Control
import ICE
import Peers
import Testing
import Time

@testable import Publishing

/// What programs are told of STUN and TURN servers.
@Suite struct ServerStatusTests {
    @Test(
        arguments: [
            (.works, .works), (.noAnswer, .silent), (.unreachable(why: "no way"), .silent), (.otherProtocol, .silent),
            (.wrongLogin, .wrongLogin), (.refused(code: 486, reason: ""), .refused),
        ] as [(ServerProbe.Result, SenderSnapshot.Server.State)]
    )
    func theyLearnTheStateAndTheSentence(result: ServerProbe.Result, state: SenderSnapshot.Server.State) {
        let server = WatchedServer("stun:h:3478", .stun(address: "192.0.2.1", port: 3478))
        let news = ServerNews(server: server, result: result, since: .start)
        let event = CallEvent(news)
        #expect(event.kind == .server && event.server == server.name && event.state == state.rawValue)
        #expect(event.sentence == news.sentence)
        let status = SenderSnapshot.Server(news, at: .start + .milliseconds(1500))
        #expect(status.name == server.name && status.state == state)
        #expect(status.sinceS == 1.5 && status.reason == news.sentence)
    }

    /// The login is a secret.
    @Test(arguments: [
        ("u:p@h", "turn:h:3478"), ("u:p@h?transport=tcp", "turn:h:3478?transport=tcp"),
        ("turns:u:p@[::1]", "turns:[::1]:5349"),
    ])
    func aServerIsNamedWithoutItsLogin(text: String, name: String) throws {
        #expect(try TURNServer(spelling: text).description == name)
    }
}
