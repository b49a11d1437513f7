package import Media
package import WebRTC

extension WebCall {
    /// Somebody who looks in, for people and programs.
    package struct Viewer: Sendable {
        /// The peer's.
        package let number: Int
        package let address: String
        /// What it said of itself; empty if it did not.
        package let name: String

        fileprivate var description: String { "viewer \(number)" + (name.isEmpty ? "" : " (\"\(name)\")") }
    }

    package enum Event: Sendable, CustomStringConvertible {
        /// The codec is that of the picture; nil for one who only listens.
        case joined(Viewer, VideoCodec?)
        case left(Viewer, PeerSession.End, EndReason)
        /// A viewer was turned away, as all places are taken or there is no relay. Reported once a minute for each network.
        case turnedAway(address: String, name: String, Refusal)

        package var description: String {
            switch self {
            case .joined(let viewer, let codec):
                if let codec {
                    "\(viewer.description) looks in from \(viewer.address), \(codec.rawValue)"
                } else {
                    "\(viewer.description) listens from \(viewer.address)"
                }
            case .left(let viewer, let end, _): "\(viewer.description) from \(viewer.address) \(end)"
            case .turnedAway(let address, let name, let refusal):
                "\(Knocks.Knock.who(name: name, note: "", address: address)) was turned away: \(refusal)"
            }
        }
    }
}
