/// The viewers behind one peer.
package enum Audience: Sendable {
    /// The peer alone.
    case one
    /// All viewers to whom the peer forwards the streams, as a media server does. Its reports cover its own link. It
    /// passes on the requests of its viewers.
    case forwarded
    /// All listeners of a multicast group. Each reports on a link of its own.
    case multicast
}
