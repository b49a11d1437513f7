package import Calls
import Configuration

extension CallKinds {
    /// The kinds by which command lines are read.
    package static let own = CallKinds()

    /// The kinds of a sender, with what the calls of its start need beside their addresses.
    ///
    /// - Parameters:
    ///   - token: of the WHIP server.
    ///   - secrets: of the Janus server.
    init(
        web: WebSettings? = nil,
        _ introduction: Introduction? = nil,
        token: (@Sendable () -> String?)? = nil,
        secrets: @escaping @Sendable () -> JanusSecrets = { JanusSecrets() },
        plain: PlainSettings? = nil
    ) {
        self.init([
            .web(web),
            .room(name: introduction?.name ?? "", note: introduction?.note ?? ""),
            .whip(token: token),
            .janus(secrets: secrets),
            .plainRTP(localPort: plain?.localPort) { try SDPPublisher(path: plain?.sdp).publish },
        ])
    }
}
