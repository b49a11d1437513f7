package import Media

/// Gets the events and media of a peer. It is called on the network thread, and no method waits.
package protocol PeerDelegate: AnyObject, Sendable {
    /// Not called by the method that adds the peer. `ended` always comes, once, as the last call.
    func peer(_ id: ParticipantID, signalled signal: Peer.Signal)

    /// The next frame of the picture that the peer sends by its agreement. The first one is a keyframe, and so is the one after a loss.
    func peer(_ id: ParticipantID, sent frame: ReceivedFrame)

    /// A packet of the sound that the peer sends by its agreement.
    func peer(_ id: ParticipantID, said packet: ReceivedSound)
}
