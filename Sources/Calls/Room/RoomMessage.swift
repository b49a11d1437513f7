package import SocketIO

/// What the members of a room tell each other: an offer, an answer, or one candidate of ICE.
package enum RoomMessage: Sendable, Equatable {
    case offer(sdp: String)
    case answer(sdp: String)
    /// A line `candidate:…`, and of which media description; no line is the end of candidates.
    case candidate(line: String, mid: String?, index: Int?)

    /// Nil for anything else. Some programs name the candidate's line `sdp`, and write its index as a string.
    package init?(_ data: JSONText) {
        guard let type = data["type"]?.string else { return nil }
        switch type {
        case "offer", "answer":
            guard let sdp = data["sdp"]?.string else { return nil }
            self = type == "offer" ? .offer(sdp: sdp) : .answer(sdp: sdp)
        case "candidate":
            guard let line = (data["candidate"] ?? data["sdp"])?.string else { return nil }
            let label = data["label"]
            self = .candidate(
                line: line,
                mid: data["id"]?.string,
                index: label?.integer ?? label?.string.flatMap { Int($0) }
            )
        default: return nil
        }
    }

    package var data: JSONText {
        func members(_ members: (String, JSONText)...) -> JSONText {
            JSONText(object: members)
        }
        return switch self {
        case .offer(let sdp): members(("type", JSONText(string: "offer")), ("sdp", JSONText(string: sdp)))
        case .answer(let sdp): members(("type", JSONText(string: "answer")), ("sdp", JSONText(string: sdp)))
        case .candidate(let line, let mid, let index):
            members(
                ("type", JSONText(string: "candidate")),
                ("label", JSONText(index ?? 0)),
                ("id", JSONText(string: mid ?? "0")),
                ("candidate", JSONText(string: line))
            )
        }
    }

    package var event: RoomState.Event {
        switch self {
        case .offer: .offer
        case .answer: .answer
        case .candidate: .candidate
        }
    }
}
