import JSON
import WebRTC

/// A message of Janus's API: the answer to a request, or an event.
struct JanusMessage: Sendable, Equatable {
    enum Content: Sendable, Equatable {
        /// A request has arrived, and its answer may follow.
        case ack
        /// The request is done; with the identifier of a new session or handle.
        case success(id: Int?)
        case fault(JanusFault)
        /// This side is in the room; with the answer to its offer.
        case joined(JanusDescription?)
        /// A change of the publication is done; with the answer to the offer if there was one.
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
        /// No message that needs a deed. The path itself tells when it is up (`webrtcup`), and reports tell of lost packets (`slowlink`). A
        /// still picture sends no packets for seconds (`media`).
        case other
    }

    let content: Content
    /// Of the request that is answered.
    let transaction: String?
    let session: Int?
    let handle: Int?

    /// Nil for a text that is no message of Janus.
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

    /// Whether all offered pictures are inactive. Janus answers so, without an error, if there is no common codec.
    var takesNoPicture: Bool {
        guard let description = try? SessionDescription(parsing: sdp) else { return false }
        let pictures = description.media.filter { $0.kind == "video" }
        return !pictures.isEmpty && pictures.allSatisfy { $0.port == 0 || !$0.receives(in: description) }
    }
}
