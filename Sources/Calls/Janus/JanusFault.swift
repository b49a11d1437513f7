import JSON

/// An error of Janus or its VideoRoom (apierror.h and janus_videoroom.c of Janus 1.1).
struct JanusFault: Sendable, Equatable {
    enum Meaning: Sendable, Equatable {
        /// The server has lost the session, or somebody else has its id.
        case stale
        case noRoom
        /// There is no place for another publisher, or the server is about to end.
        case full
        /// The server wants an API secret or a token.
        case unauthorized
        /// The room wants another PIN, or a token of its list.
        case notAdmitted
        case pinMissing
        /// Rooms have names where a number was given, or numbers where a name was.
        case otherRoomType
        case noVideoRoom
        case other
    }

    /// Bytes of a reason that are read.
    private static let longestReason = 4096

    let code: Int
    /// In the server's words, as they came.
    let reason: String

    init(_ code: JSONText?, _ reason: JSONText?) {
        self.code = code?.integer ?? 0
        self.reason = String(decoding: (reason?.string ?? "").utf8.prefix(Self.longestReason), as: UTF8.self)
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

    /// The end of a call that has not begun.
    func end(at server: String, room: String, _ secrets: JanusSecrets) -> CallEnd {
        let said = "(\(code): \(String(quoting: reason.hiding(secrets.hidden))))"
        let (kind, why): (CallEnd.Kind, String) =
            switch meaning {
            case .stale: (.failed, "has lost the session \(said)")
            case .noRoom: (.unavailable, "has no room \(room): check its number, or create it")
            case .full where code == 432: (.tryAgain, "has no place for another publisher: room \(room) is full")
            case .full: (.tryAgain, "takes nobody in now \(said)")
            case .unauthorized where secrets.apiSecret == nil && secrets.token == nil:
                (.failed, "wants a secret or a token: give it with --janus-secret-file or --janus-token-file \(said)")
            case .unauthorized: (.failed, "refuses the secret or the token \(said)")
            case .pinMissing: (.failed, "wants a PIN for room \(room): give it with --janus-pin-file")
            case .notAdmitted: (.failed, "refuses the PIN or the token for room \(room) \(said)")
            case .otherRoomType: (.failed, "has numbers for rooms: write one in place of \(room)")
            case .noVideoRoom: (.unavailable, "has no VideoRoom: load that plugin, or check the address \(said)")
            case .other: (.failed, "does not take the request \(said)")
            }
        return CallEnd(kind, "\(server) \(why)")
    }
}
