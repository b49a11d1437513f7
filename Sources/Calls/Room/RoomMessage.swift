package import JSON
import Peers
package import WebRTC

/// A message of a member of a room to the other one: an offer, an answer, a candidate of ICE, or a message between two of Oriel. The last
/// kind has the type `oriel`, which other programs ignore.
package enum RoomMessage: Sendable, Equatable {
    case offer(sdp: String)
    case answer(sdp: String)
    /// A line `candidate:…` of any media description, as all have one transport; an empty one is the end of candidates.
    case candidate(line: String)
    /// `{"type":"oriel","event":"hello",…}`: an introduction, sent by each member when it or another one has come.
    case hello(RoomIntroduction)
    /// `{"type":"oriel","event":"end","reason":"hung_up"}`: the reason why the call is over, or does not begin. `"to"` names the receiver by
    /// the id of its connection; nil for everybody.
    case end(EndReason, to: String?)
    /// `{"type":"oriel","event":"skip","milliseconds":240}`: a request to leave out so much sound, as the buffer of the sender is too long; a
    /// number in `Peer.skippableSound`.
    case skip(milliseconds: Int)

    private static let ownType = "oriel"

    /// Nil for other texts. Some programs name the candidate's line `sdp`.
    package init?(_ data: JSONText) {
        guard let type = data["type"]?.string else { return nil }
        switch type {
        case "offer", "answer":
            guard let sdp = data["sdp"]?.string else { return nil }
            self = type == "offer" ? .offer(sdp: sdp) : .answer(sdp: sdp)
        case "candidate":
            guard let line = (data["candidate"] ?? data["sdp"])?.string else { return nil }
            self = .candidate(line: line)
        case Self.ownType:
            switch data["event"]?.string {
            case "hello": self = .hello(RoomIntroduction(data))
            case "end":
                guard let reason = data["reason"]?.string.flatMap(EndReason.init) else { return nil }
                self = .end(reason, to: data["to"]?.string)
            case "skip":
                guard let length = data["milliseconds"]?.integer, Peer.skippableSound ~= length else { return nil }
                self = .skip(milliseconds: length)
            default: return nil
            }
        default: return nil
        }
    }

    package var data: JSONText {
        func object(_ type: String, _ members: [(String, JSONText)]) -> JSONText {
            JSONText(object: [("type", JSONText(string: type))] + members)
        }
        return switch self {
        case .offer(let sdp): object("offer", [("sdp", JSONText(string: sdp))])
        case .answer(let sdp): object("answer", [("sdp", JSONText(string: sdp))])
        case .candidate(let line): object("candidate", [("candidate", JSONText(string: line))])
        case .hello(let introduction):
            object(Self.ownType, [("event", JSONText(string: "hello"))] + introduction.members)
        case .end(let reason, let receiver):
            object(
                Self.ownType,
                [("event", JSONText(string: "end")), ("reason", JSONText(string: reason.rawValue))]
                    + (receiver.map { [("to", JSONText(string: $0))] } ?? [])
            )
        case .skip(let length):
            object(Self.ownType, [("event", JSONText(string: "skip")), ("milliseconds", JSONText(length))])
        }
    }
}

package struct RoomIntroduction: Sendable, Equatable {
    /// The name that it gives itself, for the person who lets it in; nil before it has given one.
    package var name: String?
    package var note = ""
    /// Whether it lets others in one by one.
    package var asks = false
    /// Whether it shows or plays the other one's media.
    package var receives = false
    /// The fingerprint of the certificate of all its calls (RFC 8122 §5). It identifies the member: DTLS connects only to the owner of the
    /// certificate.
    package var fingerprint: Fingerprint?

    package init() {}

    fileprivate init(_ data: JSONText) {
        name = data["name"]?.string
        note = data["note"]?.string ?? ""
        asks = data["asks"]?.text == "true"
        receives = data["receives"]?.text == "true"
        fingerprint = data["fingerprint"]?.string.flatMap { Fingerprint(parsing: $0) }
    }

    fileprivate var members: [(String, JSONText)] {
        func flag(_ value: Bool) -> JSONText { JSONText("\(value)".utf8)! }
        var members: [(String, JSONText)] = []
        if let name { members += [("name", JSONText(string: name)), ("note", JSONText(string: note))] }
        members += [("asks", flag(asks)), ("receives", flag(receives))]
        if let fingerprint { members.append(("fingerprint", JSONText(string: "\(fingerprint)"))) }
        return members
    }
}

extension Fingerprint {
    /// All fingerprints in a session description, each once. Some programs name their certificate by several hashes.
    static func all(in sdp: String) -> [Fingerprint] {
        let name = "a=fingerprint:"
        let lines = sdp.split(whereSeparator: \.isNewline).filter { $0.hasPrefix(name) }
        return lines.compactMap { Fingerprint(parsing: String($0.dropFirst(name.count))) }.reduce(into: []) {
            if !$0.contains($1) { $0.append($1) }
        }
    }
}
