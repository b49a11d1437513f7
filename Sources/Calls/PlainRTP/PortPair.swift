import Glibc
import Posix

/// The two sockets of a plain RTP stream: RTP at a port, connected to the receiver, and RTCP at the port after it.
///
/// RTCP is not connected, since receivers may send it from any port.
struct PortPair: ~Copyable, Sendable {
    let rtp: UDPSocket
    let rtcp: UDPSocket

    /// - Parameter localPort: the one for RTP, 1…65534; nil chooses an even one (RFC 3550 §11).
    init(to receiver: SocketAddress, localPort: UInt16?) throws(CallEnd) {
        let pair =
            if let localPort {
                try Self.open(receiver.family, localPort)
            } else {
                try Self.openAny(receiver.family)
            }
        do throws(SystemError) {
            // It has room for a keyframe, as the pace and not the kernel makes packets wait.
            try pair.rtp.setSendBuffer(1 << 20)
            try pair.rtp.connect(to: receiver)
        } catch {
            throw .sockets(error)
        }
        self = pair
    }

    private init(_ rtp: consuming UDPSocket, _ rtcp: consuming UDPSocket) {
        self.rtp = rtp
        self.rtcp = rtcp
    }

    private static func open(_ family: Int32, _ port: UInt16) throws(CallEnd) -> PortPair {
        do throws(SystemError) {
            guard 1...65534 ~= port else { throw SystemError("bind", code: EINVAL) }
            return PortPair(try UDPSocket(family: family, port: port), try UDPSocket(family: family, port: port + 1))
        } catch {
            throw CallEnd(
                .failed,
                "the local ports \(port) and \(Int(port) + 1) cannot both be used (\(error.reason)): choose another --local-port"
            )
        }
    }

    /// Takes ports that the kernel offers until one is even and the port after it is free.
    private static func openAny(_ family: Int32) throws(CallEnd) -> PortPair {
        for _ in 0..<100 {
            do throws(SystemError) {
                let rtp = try UDPSocket(family: family)
                let port = try rtp.localAddress().port
                if port % 2 == 0 { return PortPair(rtp, try UDPSocket(family: family, port: port + 1)) }
            } catch {
                if error.code != EADDRINUSE { throw .sockets(error) }
            }
        }
        throw CallEnd(.failed, "no pair of local UDP ports is free: choose one with --local-port")
    }
}

extension CallEnd {
    static func sockets(_ error: SystemError) -> CallEnd {
        let sentence = "\(error.call) failed on the sockets for RTP (\(error.reason)): see whether the network is up"
        return CallEnd(.failed, sentence)
    }
}
