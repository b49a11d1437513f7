package import Media
import SocketIO

extension RoomCall {
    package enum Event: Sendable, CustomStringConvertible {
        /// The server is not there for the moment.
        case lost(reason: String)
        case joined(room: String)
        /// The other member lets people in one by one: somebody is asked there.
        case waiting
        /// The other member is there, with the number of its peer, and gets the picture in a codec; nil if it does not want it, and
        /// only shows its own.
        case peerCame(number: Int?, codec: VideoCodec?)
        /// The other member is gone, or there is no call with it. The number is that of `peerCame`; nil if it was never connected. `why` is
        /// the rest of a sentence about it.
        case peerLeft(number: Int?, why: String, EndReason)
        /// A third member was told that this side is busy.
        case turnedAway
        /// Neither of the two shows the other's picture, or plays its voice.
        case pointless
        /// An event of the server or the other member was ignored, with the reason for people.
        case ignored(String)

        package var description: String {
            switch self {
            case .lost(let reason): "\(reason); trying again"
            case .joined(let room): "in room \(room)"
            case .waiting: "the other member of the room lets people in one by one: waiting for an answer"
            case .peerCame(_, let codec?): "the other member of the room looks in, \(codec.rawValue)"
            case .peerCame(_, nil): "the other member of the room is there, and does not look in"
            case .peerLeft(_, let why, _): "the other member of the room \(why)"
            case .turnedAway: "a third member of the room was told that this side is busy"
            case .pointless:
                "neither side shows the other's picture, so nothing is sent: start one of them with --render or --talkback"
            case .ignored(let what): "ignored in the room: \(what)"
            }
        }
    }
}

extension EndReason {
    /// The deed of the other member of a room, as the rest of a sentence about it.
    var deed: String {
        switch self {
        case .rejected: "does not let this side in"
        case .noAnswer: "did not answer"
        case .busy: "is busy: too many ask there"
        case .noRelay: "has no relay that works"
        case .hungUp: "has hung up"
        case .kicked: "was sent away"
        case .lost: "is lost"
        case .ended: "has left"
        case .failed: "does not understand this side, or is not understood"
        }
    }
}

extension SocketClient.Reason {
    /// - Parameter server: as people name it.
    func sentence(about server: String) -> String {
        switch self {
        case .refused(let words): "\(server) does not let this side in: \(String(quoting: words))"
        case .sentAway: "\(server) has ended the connection"
        case .transport(.unreachable(let sentence)): sentence
        case .transport(.refused(let status)):
            "\(server) answers with status \(status), as no server of rooms does: check the address"
        case .transport(.protocolViolated): "\(server) does not speak Socket.IO 5: check the address"
        case .transport(.notOpened), .transport(.silent): "\(server) does not answer"
        case .transport(.connectionLost), .transport(.closedByServer), .transport(.closedByClient):
            "the connection to \(server) is lost"
        }
    }
}

extension CallEnd {
    /// - Parameter address: of the room.
    init?(_ end: RoomSession.End, in address: RoomAddress) {
        switch end {
        case .left: return nil
        case .full:
            self.init(.tryAgain, "\(address) is full: choose another room, or try again when somebody has left")
        case .sentAway: self.init(.tryAgain, "the server has ended the call in \(address)", reason: .kicked)
        case .dismissed(.busy):
            let sentence = "those in \(address) have a call already: choose another room, or try again later"
            self.init(.tryAgain, sentence)
        case .dismissed(.noAnswer):
            self.init(.tryAgain, "nobody answered in \(address): try again later", reason: .noAnswer)
        case .dismissed(.kicked):
            self.init(.refused, "the other member of \(address) has sent this side away", reason: .kicked)
        case .dismissed(let reason):
            self.init(.refused, "the other member of \(address) \(reason.deed)", reason: reason)
        }
    }
}
