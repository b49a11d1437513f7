import JSON

/// A request to Janus: one JSON object.
enum JanusRequest {
    case create
    /// Takes over the session of a lost WebSocket.
    case claim
    case keepAlive
    case attach
    /// Joins the room and publishes.
    case join(JSONText, pin: String?, token: String?, offer: String)
    /// Restarts ICE: the room stays, and so do the keys.
    case restart(offer: String)
    case detach
    case destroy

    func text(
        transaction: String,
        session: Int?,
        handle: Int?,
        _ secrets: JanusSecrets
    ) -> String {
        var members = [("janus", JSONText(string: verb)), ("transaction", JSONText(string: transaction))]
        if let session { members.append(("session_id", JSONText(session))) }
        if let handle { members.append(("handle_id", JSONText(handle))) }
        if let apiSecret = secrets.apiSecret { members.append(("apisecret", JSONText(string: apiSecret))) }
        if let token = secrets.token { members.append(("token", JSONText(string: token))) }
        return JSONText(object: members + details).text
    }

    private var verb: String {
        switch self {
        case .create: "create"
        case .claim: "claim"
        case .keepAlive: "keepalive"
        case .attach: "attach"
        case .join, .restart: "message"
        case .detach: "detach"
        case .destroy: "destroy"
        }
    }

    private var details: [(String, JSONText)] {
        switch self {
        case .create, .claim, .keepAlive, .detach, .destroy: return []
        case .attach: return [("plugin", JSONText(string: "janus.plugin.videoroom"))]
        case .join(let room, let pin, let token, let offer):
            var body = [
                ("request", JSONText(string: "joinandconfigure")), ("ptype", JSONText(string: "publisher")),
                ("room", room), ("display", JSONText(string: "Oriel")),
                // No REMB of the room's (the demo room has 128 kb/s): congestion control is this side's.
                ("bitrate", JSONText(0)),
            ]
            if let pin { body.append(("pin", JSONText(string: pin))) }
            if let token { body.append(("token", JSONText(string: token))) }
            return [("body", JSONText(object: body)), ("jsep", description(offer))]
        case .restart(let offer):
            let body = JSONText(object: [("request", JSONText(string: "configure"))])
            return [("body", body), ("jsep", description(offer))]
        }
    }

    private func description(_ offer: String) -> JSONText {
        JSONText(object: [("type", JSONText(string: "offer")), ("sdp", JSONText(string: offer))])
    }
}

/// The secrets for a room of Janus. Each is nil where none is needed.
package struct JanusSecrets: Sendable, Equatable {
    /// Of all users of the server.
    package var apiSecret: String?
    /// Of this user: the server may know it, the room, or both.
    package var token: String?
    /// Of the room.
    package var pin: String?

    package init(apiSecret: String? = nil, token: String? = nil, pin: String? = nil) {
        (self.apiSecret, self.token, self.pin) = (apiSecret, token, pin)
    }

    /// The secrets to hide in the server's words. Shorter ones are parts of common words.
    var hidden: [String] { [apiSecret, token, pin].compactMap(\.self).filter { $0.utf8.count >= 4 } }
}
