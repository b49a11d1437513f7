import Media
package import Posix

/// A call over plain RTP: the stream, from its first packet to its goodbye.
package final class PlainCall: Call {
    package static let kind = "rtp"
    /// The possible local ports, as RTCP has the port after that of RTP.
    package static let localPorts: ClosedRange<UInt16> = 1...65534

    private let host: CallHost
    private let stream: PlainRTPCall

    /// - Parameters:
    ///   - localPort: of RTP; nil for any.
    ///   - publish: gets the session description, for a receiver to open.
    /// - Throws: a `CallEnd`, or an error of `publish`.
    init(
        to destination: RTPDestination,
        at receiver: SocketAddress,
        localPort: UInt16?,
        publish: (String) throws -> Void,
        in host: CallHost
    ) throws {
        self.host = host
        let media = host.media
        let rendition = media.renditions[0]
        stream = try PlainRTPCall(to: receiver, media, localPort: localPort)
        do { try publish(stream.sessionDescription) } catch {
            stream.close()
            throw error
        }
        media.addSink(stream)
        let picture = "\(rendition.width)x\(rendition.height) \(rendition.codec.rawValue)"
        let bitrate = "\(media.target.bitsPerSecond / 1000)k"
        let sentence = "sending \(picture) at \(bitrate) to \(destination) from port \(stream.localAddress.port)"
        host.report(CallReport(.standing(nil), sentence))
    }

    package func close() {
        host.media.removeSink(stream)
        stream.close()
        host.report(.ended(nil))
    }

    package var sdp: String? { stream.sessionDescription }
    package var trouble: String? { stream.statistics.receiverListening ? nil : "nobody listens there" }
    package var sent: PlainRTPStatistics? { stream.statistics }

    fileprivate static func localPort(in settings: CallSettings) throws(CallEnd) -> UInt16? {
        guard let text = settings.texts["localPort"] else { return nil }
        guard let port = UInt16(text), localPorts ~= port else {
            throw CallEnd(.failed, "the local port \(text) is out of range")
        }
        return port
    }
}

extension CallKind {
    /// Receivers of plain RTP. The setting `localPort` is that of RTP; any without it.
    ///
    /// - Parameter publisher: makes the publisher of the session description, for a call of a sender's start.
    package static func plainRTP(
        publisher: @escaping @Sendable () throws -> @Sendable (String) throws -> Void = { { _ in } }
    ) -> CallKind {
        CallKind(form: "rtp://HOST:PORT") { text in
            guard text.lowercased().hasPrefix("rtp:") else { return nil }
            let destination = try RTPDestination(parsing: text)
            var plan = CallPlan(PlainCall.kind, "\(destination)") { settings in
                let localPort = try PlainCall.localPort(in: settings)
                let known = try settings.isOfStart ? destination.resolve() : nil
                let publish = try settings.isOfStart ? publisher() : { @Sendable (_: String) in }
                return { host in
                    let receiver = try known ?? destination.resolve()
                    return try PlainCall(
                        to: destination,
                        at: receiver,
                        localPort: localPort,
                        publish: publish,
                        in: host
                    )
                }
            }
            plan.writesFiles = true
            return plan
        }
    }
}

extension RTPDestination {
    /// Looks up the host, which may take seconds.
    package func resolve() throws(CallEnd) -> SocketAddress {
        do throws(UnresolvedHost) { return try SocketAddress.resolve(host: host, port: port) } catch {
            throw CallEnd(.unavailable, "\(error)", reason: .failed)
        }
    }
}
