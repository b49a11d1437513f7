/// Who sees the streams that go to one peer.
package enum Audience: Sendable {
    /// The peer.
    case one
    /// All to whom the peer forwards them, as a media server does. It reports on the link to itself, and passes on what each
    /// of them asks for.
    case forwarded
    /// All who listen to a multicast group, each with reports on a link of its own.
    case multicast
}
