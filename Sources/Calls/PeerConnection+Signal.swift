import Access
import ICE
import Media
import RTP
import WebRTC

extension PeerConnection {
    /// What is known and wanted of the other side from the beginning.
    struct Other: Sendable {
        /// Where it is, for people.
        var place: String
        /// What it says of itself.
        var name = ""
        /// By what it is recognized later; nil for nothing.
        var guest: GuestKey?
        /// Who sees and hears what it gets.
        var audience = Audience.one
        /// Of STUN and TURN, for an offer, beside those of all peers.
        var servers: [ICEServer] = []
        /// Whether its voice is wanted, for which an offer has the sound in any case.
        var takesVoice = false
        /// Takes the picture that it sends; nil if that is not wanted.
        var receiver: (any FrameReceiver)?
        /// Whether it asks for candidates that are found after the answer.
        var trickles = false
        /// How many of its candidates may be tried, 0 to the number given; nil if nothing limits that but `mostCandidates`.
        var admit: (@Sendable (Int) -> Int)?
        /// Sends it away; nil for a server.
        var kick: (@Sendable (PeerConnection) -> Void)?
    }

    /// What becomes of the peer, told on the network thread.
    enum Signal: Sendable {
        /// This side's offer for the other side.
        case described(sdp: String)
        /// This side's answer for the other side, made of its own parameters.
        case answered(sdp: String, TransportParameters)
        /// Further candidates of this side, for one that trickles.
        case found(TrickleFragment)
        /// Candidates of servers that were added.
        case gathered(fragment: String)
        /// This side's credentials and candidates for an ICE restart; nil if ICE cannot restart.
        case proposed(fragment: String?)
        /// This machine no longer has the address at which the path begins. The other side may go on sending there until ICE restarts.
        case migrating
        /// The path stands. The codec is that of the picture that the other side gets; nil if it gets none.
        case connected(codec: VideoCodec?)
        /// The peer has ended, or could not be made. This is the last signal; after `close()` it does not come. `why` is the rest of a
        /// sentence about the other side; `isFinal` says that another attempt would fail in the same way.
        case ended(why: String, EndReason, isFinal: Bool)
    }
}
