internal import CSRTP

/// Protects sent packets and opens received ones (RFC 3711, RFC 7714). Buffers are protected and opened in place.
final class SRTPSession {
    /// The most bytes that protection adds to a packet, as zeros.
    private static let trailer = [UInt8](repeating: 0, count: Int(SRTP_MAX_TRAILER_LEN) + 4)

    let profile: SRTPProfile
    private let sending: srtp_t
    private let receiving: srtp_t

    /// The most accepted sources. libsrtp keeps the state of each for ever, and searches through all of them.
    private static let peerLimit = 16
    private var peers: Set<UInt32> = []

    private static let isReady: Bool = srtp_init() == srtp_err_status_ok

    /// Nil if libsrtp fails, which only happens without memory.
    init?(_ keys: SRTPKeys) {
        guard Self.isReady, let sending = Self.session(keys.profile, keys.sending, ssrc_any_outbound) else {
            return nil
        }
        guard let receiving = Self.session(keys.profile, keys.receiving, ssrc_any_inbound) else {
            srtp_dealloc(sending)
            return nil
        }
        profile = keys.profile
        self.sending = sending
        self.receiving = receiving
    }

    deinit {
        srtp_dealloc(sending)
        srtp_dealloc(receiving)
    }

    private static func session(_ profile: SRTPProfile, _ key: [UInt8], _ direction: srtp_ssrc_type_t) -> srtp_t? {
        var policy = srtp_policy_t()
        let profile = srtp_profile_t(UInt32(profile.rawValue))
        guard srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, profile) == srtp_err_status_ok,
            srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, profile) == srtp_err_status_ok
        else { return nil }
        policy.ssrc.type = direction
        policy.window_size = 1024
        // A viewer without a retransmission stream gets the same packet again.
        policy.allow_repeat_tx = 1
        var key = key
        return key.withUnsafeMutableBufferPointer { bytes in
            policy.key = bytes.baseAddress
            var session: srtp_t?
            return srtp_create(&session, &policy) == srtp_err_status_ok ? session : nil
        }
    }

    /// Protects the RTP packet that `write` appends to the bytes, whose count is a multiple of 4. A packet that libsrtp
    /// refuses is removed.
    ///
    /// - Parameter write: returns false if it has appended nothing.
    /// - Returns: the result of `write`.
    func protectRTP(_ bytes: inout [UInt8], _ write: (inout [UInt8]) -> Bool) -> Bool {
        protect(&bytes, by: srtp_protect, write)
    }

    /// Protects an RTCP datagram in the same way.
    func protectRTCP(_ bytes: inout [UInt8], _ write: (inout [UInt8]) -> Bool) -> Bool {
        protect(&bytes, by: srtp_protect_rtcp, write)
    }

    private func protect(
        _ bytes: inout [UInt8],
        by function: (srtp_t?, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?) -> srtp_err_status_t,
        _ write: (inout [UInt8]) -> Bool
    ) -> Bool {
        let start = bytes.count
        guard write(&bytes) else { return false }
        var length = Int32(bytes.count - start)
        bytes.append(contentsOf: Self.trailer)
        let status = bytes.withUnsafeMutableBytes { function(sending, $0.baseAddress! + start, &length) }
        bytes.removeLast(bytes.count - start - (status == srtp_err_status_ok ? Int(length) : 0))
        return true
    }

    /// Opens an RTCP datagram, and returns its sender's SSRC, which is its first field and not encrypted (RFC 3550
    /// §6.4). Nil if the datagram is forged or repeated, or of one sender too many.
    func openRTCP(_ datagram: UnsafeRawBufferPointer) -> (source: UInt32, bytes: [UInt8])? {
        open(datagram, sourceAt: 4, by: srtp_unprotect_rtcp)
    }

    /// Opens an RTP packet. Its SSRC is the third field (RFC 3550 §5.1). Nil as for RTCP.
    func openRTP(_ datagram: UnsafeRawBufferPointer) -> [UInt8]? {
        open(datagram, sourceAt: 8, by: srtp_unprotect)?.bytes
    }

    private func open(
        _ datagram: UnsafeRawBufferPointer,
        sourceAt offset: Int,
        by function: (srtp_t?, UnsafeMutableRawPointer?, UnsafeMutablePointer<Int32>?) -> srtp_err_status_t
    ) -> (source: UInt32, bytes: [UInt8])? {
        guard datagram.count >= offset + 4 else { return nil }
        let peer = UInt32(bigEndian: datagram.loadUnaligned(fromByteOffset: offset, as: UInt32.self))
        guard peers.contains(peer) || peers.count < Self.peerLimit else { return nil }
        var bytes = Array(datagram)
        var length = Int32(bytes.count)
        guard function(receiving, &bytes, &length) == srtp_err_status_ok else { return nil }
        peers.insert(peer)
        bytes.removeLast(bytes.count - Int(length))
        return (peer, bytes)
    }
}
