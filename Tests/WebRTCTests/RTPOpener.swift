import CSRTP

@testable import WebRTC

/// Opens protected RTP as a viewer does.
final class RTPOpener {
    private let session: srtp_t

    init?(_ profile: SRTPProfile, key: [UInt8]) {
        srtp_init()
        var policy = srtp_policy_t()
        let number = srtp_profile_t(UInt32(profile.rawValue))
        srtp_crypto_policy_set_from_profile_for_rtp(&policy.rtp, number)
        srtp_crypto_policy_set_from_profile_for_rtcp(&policy.rtcp, number)
        policy.ssrc.type = ssrc_any_inbound
        policy.window_size = 1024
        var key = key
        let made = key.withUnsafeMutableBufferPointer { bytes in
            policy.key = bytes.baseAddress
            var session: srtp_t?
            return srtp_create(&session, &policy) == srtp_err_status_ok ? session : nil
        }
        guard let made else { return nil }
        session = made
    }

    deinit { srtp_dealloc(session) }

    /// Nil for a forged or repeated packet.
    func open(_ packet: [UInt8]) -> [UInt8]? {
        var bytes = packet
        var length = Int32(bytes.count)
        guard srtp_unprotect(session, &bytes, &length) == srtp_err_status_ok else { return nil }
        return Array(bytes[..<Int(length)])
    }
}

extension SRTPSession {
    func protect(rtp packet: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        _ = protectRTP(&bytes) {
            $0 += packet
            return true
        }
        return bytes.isEmpty ? nil : bytes
    }

    func protect(rtcp datagram: [UInt8]) -> [UInt8]? {
        var bytes: [UInt8] = []
        _ = protectRTCP(&bytes) {
            $0 += datagram
            return true
        }
        return bytes.isEmpty ? nil : bytes
    }

    func open(rtcp datagram: [UInt8]) -> [UInt8]? { datagram.withUnsafeBytes { openRTCP($0)?.bytes } }
}
