import Media
import Peers

/// Takes what comes of a viewer's peer.
final class ViewerDelegate: PeerDelegate {
    private let call: WebCall
    /// The name of its session.
    private let session: String

    init(_ call: WebCall, _ session: String) { (self.call, self.session) = (call, session) }

    func peer(_ id: ParticipantID, signalled signal: Peer.Signal) {
        if case .ended = signal { call.host.end(id) }
        call.take(signal, of: session)
    }

    func peer(_ id: ParticipantID, said packet: ReceivedSound) { call.host.media.voices?.receive(packet, from: id) }
}
