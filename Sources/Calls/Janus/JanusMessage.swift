import SocketIO

/// What Janus says by its API: the answer to a request, or what has happened.
struct JanusMessage: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        /// A request has arrived, and its answer may follow.
        case ack
        /// What was asked for is done; with the identifier of what was made.
        case success(id: Int?)
        case fault(JanusFault)
        /// This side is in the room, as the plugin says; with the answer to its offer.
        case joined(JanusDescription?)
        /// This side is in the room no more; the reason is `kicked`, or there is none.
        case left(reason: String?)
        case roomDestroyed
        /// A candidate of Janus: a line `candidate:…`.
        case candidate(String)
        case hangUp(reason: String)
        case detached
        /// The session has lapsed.
        case timeout
        /// What needs no deed. A path that is up (`webrtcup`) is known by it; that packets are lost (`slowlink`), by their
        /// reports; that none have come for a second (`media`) is normal of a still picture.
        case other
    }

    let content: Content
    /// Of the request that is answered.
    let transaction: String?
    let session: Int?
    /// The handle that it is about.
    let handle: Int?

    /// Nil for what is no message of Janus.
    init?(_ text: some Collection<UInt8>) {
        guard let json = JSONText(text), let kind = json["janus"]?.string else { return nil }
        transaction = json["transaction"]?.string
        session = json["session_id"]?.integer
        handle = json["sender"]?.integer
        switch kind {
        case "ack": content = .ack
        case "success": content = .success(id: json["data"]?["id"]?.integer)
        case "error": content = .fault(JanusFault(json["error"]?["code"], json["error"]?["reason"]))
        case "event": content = Self.event(json["plugindata"]?["data"], json["jsep"].flatMap(JanusDescription.init))
        case "trickle": content = json["candidate"]?["candidate"]?.string.map(Content.candidate) ?? .other
        case "hangup": content = .hangUp(reason: json["reason"]?.string ?? "no reason is given")
        case "detached": content = .detached
        case "timeout": content = .timeout
        default: content = .other
        }
    }

    /// What the VideoRoom says.
    private static func event(_ data: JSONText?, _ description: JanusDescription?) -> Content {
        guard let data else { return .other }
        if let code = data["error_code"] { return .fault(JanusFault(code, data["error"])) }
        switch data["videoroom"]?.string {
        case "joined": return .joined(description)
        case "destroyed": return .roomDestroyed
        default: return data["leaving"]?.string == "ok" ? .left(reason: data["reason"]?.string) : .other
        }
    }
}

/// A session description as Janus wraps it (JSEP).
struct JanusDescription: Sendable, Equatable {
    let type: String
    let sdp: String

    init?(_ json: JSONText) {
        guard let type = json["type"]?.string, let sdp = json["sdp"]?.string else { return nil }
        (self.type, self.sdp) = (type, sdp)
    }
}

/// Why Janus or its VideoRoom does not do what was asked (apierror.h and janus_videoroom.c of Janus 1.1).
struct JanusFault: Sendable, Equatable {
    enum Meaning: Sendable, Equatable {
        /// What this side believes of its session is no longer so, or somebody else has its id.
        case stale
        case noRoom
        /// There is no place for another publisher, or the server is about to end.
        case full
        /// The server wants an API secret or a token.
        case unauthorized
        /// The room wants another PIN, or a token of its list.
        case notAdmitted
        /// The room wants a PIN.
        case pinMissing
        /// Rooms have names where a number was given, or numbers where a name was.
        case otherRoomType
        case noVideoRoom
        case other
    }

    let code: Int
    let reason: String

    init(_ code: JSONText?, _ reason: JSONText?) {
        (self.code, self.reason) = (code?.integer ?? 0, String(quoting: reason?.string ?? ""))
    }

    var meaning: Meaning {
        switch code {
        case 403, 405, 470: .unauthorized
        case 424, 425, 434, 435, 436, 458, 459, 468, 471: .stale
        case 426: .noRoom
        case 429 where reason.contains("(pin)"): .pinMissing
        case 430 where reason.contains("room should be"): .otherRoomType
        case 432, 472: .full
        case 433: .notAdmitted
        case 460, 461: .noVideoRoom
        default: .other
        }
    }
}
