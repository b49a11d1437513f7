import ICE
package import Peers

extension ServerNews {
    package var sentence: String {
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

    private var isNamed: Bool { server.call != nil }
    private var kind: String { if case .stun = server.server { "STUN" } else { "TURN" } }
    private var option: String { if case .stun = server.server { "--stun" } else { "--turn" } }
    private var transport: String { if case .turn(_, _, .tcp, _) = server.server { "TCP" } else { "UDP" } }
    private var usesSecret: Bool { if case .turn(_, _, _, .secret) = server.server { true } else { false } }
}
