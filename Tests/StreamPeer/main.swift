import FoundationEssentials
import Glibc
import Posix
import WebRTC

/// A session with a screen, a camera and sound, on an agent and sockets of its own: what a call is without the sender.
///
/// Usage: stream-peer offer | answer. Descriptions are lines of JSON: an offer on standard output, and its answer on
/// standard input, or the other way round. It sends until standard input ends.

func say(_ fields: [String: String]) throws {
    print(String(decoding: try JSONEncoder().encode(fields), as: UTF8.self))
    fflush(nil)
}

func hear() throws -> SessionDescription {
    guard let line = readLine() else { throw Failure("no description came") }
    let fields = try JSONDecoder().decode([String: String].self, from: Data(line.utf8))
    return try SessionDescription(parsing: fields["sdp"] ?? "")
}

struct Failure: Error, CustomStringConvertible {
    let description: String
    init(_ description: String) { self.description = description }
}

do {
    let call = try StreamCall()
    switch CommandLine.arguments.dropFirst().first {
    case "offer":
        let offer = SessionOffer(StreamCall.locals)
        try call.gather(isControlling: true)
        let bundle = call.bundle(of: offer.streams)
        try say(["sdp": "\(offer.description(local: call.transport, bundle: bundle, sessionID: 1))"])
        let agreement = try offer.agreement(in: try hear())
        try call.run(try call.begin(agreement.streams, agreement.remote, agreement.role, bundle))
    case "answer":
        let negotiation = try Negotiation(offer: try hear(), streams: StreamCall.locals)
        try call.gather(isControlling: negotiation.agreement.remote.isLite)
        let bundle = call.bundle(of: negotiation.agreement.streams)
        try say(["sdp": "\(negotiation.answer(local: call.transport, bundle: bundle, sessionID: 1))"])
        try call.run(
            try call.begin(
                negotiation.agreement.streams,
                negotiation.agreement.remote,
                negotiation.agreement.role,
                bundle
            )
        )
    default: throw Failure("usage: stream-peer offer | answer")
    }
} catch {
    let text = "stream-peer: \(error)\n"
    write(2, text, text.utf8.count)
    exit(1)
}
