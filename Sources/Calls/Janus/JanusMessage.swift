import JSON
import WebRTC

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
        /// What this side has changed of its publication is taken, with the answer to its offer if it made one.
        case configured(JanusDescription?)
        /// This side is in the room no more; the reason is `kicked`.
        case left(reason: String)
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
        case _ where data["configured"]?.string == "ok": return .configured(description)
        default:
            // Without a reason it is another publisher whose id is "ok": this side never asks to leave.
            guard data["leaving"]?.string == "ok", let reason = data["reason"]?.string else { return .other }
            return .left(reason: reason)
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

    /// Whether all pictures that were offered are inactive: so Janus answers where there is no codec in common, and says no word of
    /// it.
    var takesNoPicture: Bool {
        guard let description = try? SessionDescription(parsing: sdp) else { return false }
        let pictures = description.media.filter { $0.kind == "video" }
        return !pictures.isEmpty && pictures.allSatisfy { $0.port == 0 || !$0.receives(in: description) }
    }
}
