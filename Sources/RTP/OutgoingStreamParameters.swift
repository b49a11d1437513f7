extension OutgoingStream {
    /// What was negotiated with the peer.
    package struct Parameters: Equatable, Sendable {
        /// 0…127.
        package var payloadType: UInt8
        /// Payload type of retransmissions (RFC 4588); nil repeats lost packets as they were.
        package var retransmissionPayloadType: UInt8?
        /// Whether the peer says when a packet or a picture is lost (RFC 4585).
        package var canAskForRepair: Bool
        package var extensions: HeaderExtensions
        /// Identifies the media description; goes out if it has at most 16 bytes.
        package var mid: String

        package init(
            payloadType: UInt8,
            retransmissionPayloadType: UInt8?,
            canAskForRepair: Bool = true,
            extensions: HeaderExtensions = HeaderExtensions(),
            mid: String = ""
        ) {
            self.payloadType = payloadType
            self.retransmissionPayloadType = retransmissionPayloadType
            self.canAskForRepair = canAskForRepair
            self.extensions = extensions
            self.mid = mid
        }
    }
}
