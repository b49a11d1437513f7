extension OutgoingStream {
    package struct Parameters: Equatable, Sendable {
        /// 0…127.
        package var payloadType: UInt8
        /// Payload type of retransmissions (RFC 4588). If nil, lost packets are repeated unchanged.
        package var retransmissionPayloadType: UInt8?
        /// Whether the peer reports lost packets and pictures (RFC 4585).
        package var canAskForRepair = true
        package var extensions = HeaderExtensions.empty
        /// Names the media description. Sent if it has at most 16 bytes.
        package var mid = ""
    }
}

extension OutgoingStream.Parameters {
    package init(payloadType: UInt8, retransmissionPayloadType: UInt8?) {
        (self.payloadType, self.retransmissionPayloadType) = (payloadType, retransmissionPayloadType)
    }
}
