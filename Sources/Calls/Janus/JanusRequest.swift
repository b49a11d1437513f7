import JSON

/// A request to Janus: one JSON object.
struct JanusRequest {
    static let create = JanusRequest("create")
    /// Takes over the session of a lost WebSocket.
    static let claim = JanusRequest("claim")
    static let keepAlive = JanusRequest("keepalive")
    static let attach = JanusRequest("attach", [("plugin", JSONText(string: "janus.plugin.videoroom"))])
    static let detach = JanusRequest("detach")
    static let destroy = JanusRequest("destroy")

    private let verb: String
    private let details: [(String, JSONText)]

    private init(_ verb: String, _ details: [(String, JSONText)] = []) { (self.verb, self.details) = (verb, details) }

    private init(message body: [(String, JSONText)], offer: String) {
        let description = JSONText(object: [("type", JSONText(string: "offer")), ("sdp", JSONText(string: offer))])
        self.init("message", [("body", JSONText(object: body)), ("jsep", description)])
    }

    /// Joins the room and publishes.
    static func join(_ room: JSONText, pin: String?, token: String?, offer: String) -> JanusRequest {
        var body = [
            ("request", JSONText(string: "joinandconfigure")), ("ptype", JSONText(string: "publisher")),
            ("room", room), ("display", JSONText(string: "Oriel")),
            // No REMB of the room's (the demo room has 128 kb/s): congestion control is this side's.
            ("bitrate", JSONText(0)),
        ]
        if let pin { body.append(("pin", JSONText(string: pin))) }
        if let token { body.append(("token", JSONText(string: token))) }
        return JanusRequest(message: body, offer: offer)
    }

    /// Restarts ICE: the room stays, and so do the keys.
    static func restart(offer: String) -> JanusRequest {
        JanusRequest(message: [("request", JSONText(string: "configure"))], offer: offer)
    }

    func text(transaction: String, session: Int?, handle: Int?, _ secrets: JanusSecrets) -> String {
        var members = [("janus", JSONText(string: verb)), ("transaction", JSONText(string: transaction))]
        if let session { members.append(("session_id", JSONText(session))) }
        if let handle { members.append(("handle_id", JSONText(handle))) }
        if let apiSecret = secrets.apiSecret { members.append(("apisecret", JSONText(string: apiSecret))) }
        if let token = secrets.token { members.append(("token", JSONText(string: token))) }
        return JSONText(object: members + details).text
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
