import ArgumentParser
import Calls

/// What the calls of a sender's start need beside their addresses.
struct CallSettings: Sendable {
    var web: WebSettings?
    /// What members of rooms are told of this side.
    var introduction = (name: "", note: "")
    var whipToken: (@Sendable () -> String?)?
    var janusSecrets: @Sendable () -> JanusSecrets = { JanusSecrets() }
    var localPort: UInt16?
    /// Makes what publishes the session description of a call over plain RTP.
    var publisher: @Sendable () throws -> @Sendable (String) throws -> Void = { { _ in } }
}

extension CallKinds {
    /// The kinds by which command lines are read.
    static let own = CallKinds(CallSettings())

    init(_ settings: CallSettings) {
        self.init([
            .web(settings.web),
            .room(name: settings.introduction.name, note: settings.introduction.note),
            .whip(token: settings.whipToken),
            .janus(secrets: settings.janusSecrets),
            .plainRTP(localPort: settings.localPort, publisher: settings.publisher),
        ])
    }
}

extension CallPlan {
    /// A call by its name on a command line.
    init(parsing text: String) throws {
        do { self = try CallKinds.own.plan(text) } catch let error as CallEnd {
            throw ValidationError(error.description)
        }
    }
}
