import ArgumentParser
import Calls
import Configuration
import Publishing

struct JoinedCallOptions: ParsableArguments {
    @Option(
        help: ArgumentHelp(
            "A file with the bearer token of the WHIP server, read again for each request, so that it may be renewed; the "
                + "environment may give one as ORIEL_WHIP_TOKEN instead.",
            valueName: "file"
        )
    )
    var whipTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the bearer token of the server of segments, read again for each request, so that it may be renewed; the environment may give "
                + "one as ORIEL_PUSH_TOKEN instead.",
            valueName: "file"
        )
    )
    var pushTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the API secret of the Janus server, read again for each connection, so that it may be renewed; the "
                + "environment may give one as ORIEL_JANUS_SECRET instead.",
            valueName: "file"
        )
    )
    var janusSecretFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with a token for the Janus server or its room, read again likewise, which may be in ORIEL_JANUS_TOKEN instead.",
            valueName: "file"
        )
    )
    var janusTokenFile: String?

    @Option(
        help: ArgumentHelp(
            "A file with the PIN of the Janus room, read again likewise, which may be in ORIEL_JANUS_PIN instead.",
            valueName: "file"
        )
    )
    var janusPinFile: String?

    /// - Parameter calls: all calls of the sender.
    func validate(for calls: [CallPlan]) throws {
        for (index, call) in calls.enumerated() where calls[..<index].contains(call) {
            throw ValidationError("\(call) is given twice.")
        }
        func servers(_ kind: String) -> Int { Set(calls.filter { $0.kind == kind }.map(\.server)).count }
        let whipServers = servers(WHIPCall.kind)
        do {
            if whipServers > 0, try !settings.texts(for: WHIPCall.kind).isEmpty, whipServers > 1 {
                throw ValidationError("a WHIP token is for one server: attach a sender to each.")
            }
        } catch let error as ConfigurationError {
            throw ValidationError("\(error)")
        }
        if servers(CMAFCall.kind) > 1, settings.pushToken != nil {
            throw ValidationError("a token is for one server of segments: attach a sender to each.")
        }
        if servers(JanusCall.kind) > 1, try !settings.texts(for: JanusCall.kind).isEmpty {
            throw ValidationError("secrets of Janus are for one server: attach a sender to each.")
        }
    }

    var settings: CallCredentials {
        var settings = CallCredentials()
        settings.whipToken = Secret(in: whipTokenFile, or: .whipToken)
        settings.pushToken = Secret(in: pushTokenFile, or: .pushToken)
        settings.janusSecret = Secret(in: janusSecretFile, or: .janusSecret)
        settings.janusToken = Secret(in: janusTokenFile, or: .janusToken)
        settings.janusPin = Secret(in: janusPinFile, or: .janusPin)
        return settings
    }
}
