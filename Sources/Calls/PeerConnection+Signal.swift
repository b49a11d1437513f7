import Access
import ICE
import Media
import RTP
import WebRTC

extension PeerConnection {
    /// The other side, from the beginning.
    struct Other: Sendable {
        /// For people.
        var place: String
        /// The name that it gives itself.
        var name = ""
        /// Identifies it later; nil if nothing does.
        var guest: GuestKey?
        /// The link by which it comes.
        var link = AccessEngine.Link.common
        /// The audience of its media.
        var audience = Audience.one
        /// STUN and TURN servers for an offer, beside those of all peers.
        var servers: [ICEServer] = []
        /// Whether its voice is wanted. Then an offer has sound in any case.
        var takesVoice = false
        /// Gets its picture; nil if that is not wanted.
        var receiver: (any FrameReceiver)?
        /// Whether it asks for candidates that are found after the answer.
        var trickles = false
        /// Returns how many of so many candidates may be tried; nil for no limit but `mostCandidates`.
        var admit: (@Sendable (Int) -> Int)?
        /// Sends it away for a reason; nil for a server.
        var kick: (@Sendable (PeerConnection, EndReason) -> Void)?
    }

    /// An event of the peer, signalled on the network thread.
    enum Signal: Sendable {
        /// This side's offer for the other side.
        case described(sdp: String)
        /// This side's answer for the other side, with the parameters in it.
        case answered(sdp: String, TransportParameters)
        /// Further candidates of this side, for one that trickles.
        case found(TrickleFragment)
        /// Candidates of servers that were added.
        case gathered(fragment: String)
        /// This side's credentials and candidates for an ICE restart; nil if ICE cannot restart.
        case proposed(fragment: String?)
        /// The path's address is no longer this machine's. The other side may go on sending there until ICE restarts.
        case migrating
        /// The path stands. The codec is that of the sent picture; nil for no picture.
        case connected(codec: VideoCodec?)
        /// The peer has ended, or could not be made. This is the last signal, and does not come after `close()`. `why` is the rest of a
        /// sentence about the other side. `isFinal` means that another attempt would fail in the same way.
        case ended(why: String, EndReason, isFinal: Bool)
    }
}
