import SocketIO

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
        case .leaseExpired: "has no more time"
        case .revoked: "has taken the invitation back"
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
