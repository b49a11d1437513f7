package import Calls

/// What the calls of a sender's start need beside their addresses.
package struct CallSettings: Sendable {
    package var web: WebSettings?
    /// What members of rooms are told of this side.
    package var introduction = (name: "", note: "")
    package var whipToken: (@Sendable () -> String?)?
    package var janusSecrets: @Sendable () -> JanusSecrets = { JanusSecrets() }
    package var localPort: UInt16?
    /// Makes what publishes the session description of a call over plain RTP.
    package var publisher: @Sendable () throws -> @Sendable (String) throws -> Void = { { _ in } }

    package init() {}
}

extension CallKinds {
    /// The kinds by which command lines are read.
    package static let own = CallKinds(CallSettings())

    package init(_ settings: CallSettings) {
        self.init([
            .web(settings.web),
            .room(name: settings.introduction.name, note: settings.introduction.note),
            .whip(token: settings.whipToken),
            .janus(secrets: settings.janusSecrets),
            .plainRTP(localPort: settings.localPort, publisher: settings.publisher),
        ])
    }
}
