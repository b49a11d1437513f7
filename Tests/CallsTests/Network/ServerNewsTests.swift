import ICE
import Peers
import Testing
import Time

@testable import Calls

@Suite struct ServerNewsTests {
    private static let login = TURNCredentials.password(username: "u", password: "p")
    private static let stun = WatchedServer("stun:h:3478", .stun(address: "192.0.2.1", port: 3478))
    private static let turn = WatchedServer("turn:h:3478", .turn(address: "192.0.2.1", port: 3478, .udp, login))
    private static let secret = WatchedServer(
        "turn:h:3478?transport=tcp",
        .turn(address: "192.0.2.1", port: 3478, .tcp, .secret(TURNSecret("s"), lifetime: .seconds(60)))
    )

    private static func named(_ server: WatchedServer) -> WatchedServer {
        WatchedServer(server.name, server.server, namedBy: "whip+https://w")
    }

    private static func news(_ server: WatchedServer, _ result: ServerProbe.Result) -> ServerNews {
        ServerNews(server: server, result: result, since: .start)
    }

    @Test(arguments: [
        (
            news(stun, .noAnswer),
            "the STUN server stun:h:3478 does not answer: check --stun, and whether a firewall lets UDP pass"
        ),
        (news(turn, .works), "the TURN server turn:h:3478 works again"),
        (
            news(secret, .noAnswer),
            "the TURN server turn:h:3478?transport=tcp does not answer: check --turn, and whether a firewall lets TCP pass"
        ),
        (news(turn, .wrongLogin), "the TURN server turn:h:3478 refuses the login: check --turn and its password"),
        (
            news(secret, .wrongLogin),
            "the TURN server turn:h:3478?transport=tcp refuses the login: check the secret of --turn-secret-file, and this machine's clock"
        ),
        (
            news(turn, .refused(code: 486, reason: "Allocation Quota Reached")),
            "the TURN server turn:h:3478 refuses to relay: error 486, \"Allocation Quota Reached\""
        ),
        (news(stun, .refused(code: 500, reason: "")), "the STUN server stun:h:3478 refuses to answer: error 500"),
        (news(turn, .otherProtocol), "turn:h:3478 answers, but is no TURN server: check --turn and its port"),
        (news(turn, .unreachable(why: "no way")), "no way"),
        (
            news(named(stun), .noAnswer),
            "the STUN server stun:h:3478, which whip+https://w names, does not answer: check whether a firewall lets UDP pass, or tell the media server's operator"
        ),
        (
            news(named(turn), .wrongLogin),
            "the TURN server turn:h:3478, which whip+https://w names, refuses the login that comes with it: tell the media server's operator"
        ),
        (
            news(named(turn), .otherProtocol),
            "turn:h:3478, which whip+https://w names, answers, but is no TURN server: tell the media server's operator"
        ),
        (news(named(turn), .works), "the TURN server turn:h:3478, which whip+https://w names, works again"),
    ])
    func peopleAreToldWhatToDo(news: ServerNews, sentence: String) {
        #expect(news.sentence == sentence)
    }
}
