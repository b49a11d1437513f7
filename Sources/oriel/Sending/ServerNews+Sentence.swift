import Calls
import ICE
import Peers
import Posix
import Sender
import Time

extension ServerNews {
    /// The sentence for people: the state of the server, with advice.
    var sentence: String {
        let naming = server.call.map { ", which \($0) names," } ?? ""
        let place = "the \(kind) server \(server.name)\(naming)"
        return switch result {
        case .works: "\(place) works again"
        case .noAnswer where isNamed:
            "\(place) does not answer: check whether a firewall lets \(transport) pass, or tell the media server's operator"
        case .noAnswer: "\(place) does not answer: check \(option), and whether a firewall lets \(transport) pass"
        case .unreachable(let why): why
        case .otherProtocol where isNamed:
            "\(server.name)\(naming) answers, but is no \(kind) server: tell the media server's operator"
        case .otherProtocol: "\(server.name) answers, but is no \(kind) server: check \(option) and its port"
        case .wrongLogin where isNamed:
            "\(place) refuses the login that comes with it: tell the media server's operator"
        case .wrongLogin where usesSecret:
            "\(place) refuses the login: check the secret of --turn-secret-file, and this machine's clock"
        case .wrongLogin: "\(place) refuses the login: check \(option) and its password"
        case .refused(let code, let reason):
            "\(place) refuses to \(kind == "STUN" ? "answer" : "relay"): error \(code)"
                + (reason.isEmpty ? "" : ", \"\(reason)\"")
        }
    }

    /// For programs.
    var state: SenderStatus.Server.State {
        switch result {
        case .works: .works
        case .noAnswer, .unreachable, .otherProtocol: .silent
        case .wrongLogin: .wrongLogin
        case .refused: .refused
        }
    }

    private var isNamed: Bool { server.call != nil }
    private var kind: String { if case .stun = server.server { "STUN" } else { "TURN" } }
    private var option: String { if case .stun = server.server { "--stun" } else { "--turn" } }
    private var transport: String { if case .turn(_, _, .tcp, _) = server.server { "TCP" } else { "UDP" } }
    private var usesSecret: Bool { if case .turn(_, _, _, .secret) = server.server { true } else { false } }
}

extension CallEvent {
    init(_ news: ServerNews) {
        self.init(kind: .server, sentence: news.sentence, server: news.server.name, serverState: news.state)
    }
}

extension SenderStatus.Server {
    /// A server that does not work.
    init(_ fault: ServerNews, at now: Instant) {
        self.init(
            name: fault.server.name,
            state: fault.state,
            sinceS: milliseconds(now - fault.since) / 1000,
            reason: fault.sentence
        )
    }
}
