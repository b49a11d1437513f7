package import Media
package import Time

/// The streams that a peer sends in one session, one for each media description, and the feedback to the peer.
///
/// After each call that changes it, take frames and sound, write feedback until there is none, and call again when `nextDeadline` comes.
package struct IncomingBundle {
    /// The negotiated parameters of a media description whose stream this side receives.
    package struct Description: Equatable, Sendable {
        package var mid: String
        /// Payload types of codecs, all of one kind.
        package var codecs: [UInt8: StreamCodec] = [:]
        /// Payload types of retransmissions (RFC 4588), with those of the repeated codecs.
        package var retransmissions: [UInt8: UInt8] = [:]
        package var extensions: HeaderExtensions
    }

    private struct Section {
        let description: Description
        /// Nil until the peer sends video there.
        var stream: IncomingStream?
        /// The source of sound; nil until the peer sends some there.
        var sound: (ssrc: UInt32, statistics: ReceptionStatistics)?

        var ssrc: UInt32? { stream?.ssrc ?? sound?.ssrc }
    }

    private var media: [Section]
    /// The packets of sound as they came. The player decides how long to wait for a missing one.
    private var sound: [ReceivedSound] = []
    /// Whether there ever was a stream. A sender may end it and go on to watch, so a goodbye does not mean that the
    /// peer leaves.
    package private(set) var hasReceived = false
    private let extensions: HeaderExtensions
    private var arrivals = TransportArrivals()
    private var reports: ReportSchedule
    private let tellsArrivals: Bool

    /// - Parameter descriptions: all of one bundle, so that header extensions have the same identifiers.
    package init(_ descriptions: [Description], using random: inout some RandomNumberGenerator) {
        media = descriptions.map { Section(description: $0) }
        extensions = HeaderExtensions(
            mid: descriptions.lazy.compactMap(\.extensions.mid).first,
            transportNumber: descriptions.lazy.compactMap(\.extensions.transportNumber).first,
            soundLevel: descriptions.lazy.compactMap(\.extensions.soundLevel).first
        )
        tellsArrivals = extensions.transportNumber != nil
        reports = ReportSchedule(seed: random.next())
    }

    /// Whether pictures are received.
    package var takesVideo: Bool { media.contains { $0.description.codecs.values.contains { $0 != .opus } } }

    // MARK: - Input

    /// Receives a packet of RTP. One that belongs to no media description is ignored.
    package mutating func receive(_ bytes: [UInt8], now: Instant) {
        guard let packet = try? IncomingPacket(bytes, extensions) else { return }
        if tellsArrivals, let number = packet.transportNumber { arrivals.noteArrival(of: number, at: now) }
        guard let index = place(of: packet) else { return }
        reports.packetSent(at: now)
        let description = media[index].description
        let type = packet.header.payloadType
        if description.codecs[type] == .opus {
            receiveSound(packet, in: index, now: now)
        } else if case .video(let codec)? = description.codecs[type] {
            // A source that begins anew has another SSRC (RFC 3550 §8.2), and begins with a keyframe.
            if media[index].stream?.ssrc != packet.header.ssrc {
                guard
                    media[index].stream?.statistics.isSilent(at: now) ?? true
                        || FrameAssembly.beginsKeyframe(packet.payload, codec)
                else { return }
                media[index].stream = IncomingStream(ssrc: packet.header.ssrc, codecs: description.codecs)
                hasReceived = true
            }
            media[index].stream!.receive(packet, now: now)
        } else if let repeated = description.retransmissions[type], let ssrc = media[index].stream?.ssrc,
            let original = packet.original(ssrc: ssrc, payloadType: repeated)
        {
            media[index].stream!.receiveAgain(original, now: now)
        }
    }

    private mutating func receiveSound(_ packet: IncomingPacket, in index: Int, now: Instant) {
        if media[index].sound?.ssrc != packet.header.ssrc {
            guard media[index].sound?.statistics.isSilent(at: now) ?? true else { return }
            media[index].sound = (packet.header.ssrc, ReceptionStatistics(clockRate: StreamCodec.opus.clockRate))
            hasReceived = true
        }
        media[index].sound!.statistics.notePacket(packet.header, at: now)
        // Padding.
        guard !packet.payload.isEmpty else { return }
        sound.append(
            ReceivedSound(
                sequenceNumber: packet.header.sequenceNumber,
                timestamp: packet.header.timestamp,
                arrivedAt: now,
                level: packet.soundLevel,
                bytes: Array(packet.payload)
            )
        )
    }

    /// The media description of a packet (RFC 9143 §9.2): by its mid, or else by its payload type.
    private func place(of packet: IncomingPacket) -> Int? {
        let type = packet.header.payloadType
        func fits(_ description: Description) -> Bool {
            description.codecs[type] != nil || description.retransmissions[type] != nil
        }
        if let mid = packet.mid { return media.firstIndex { $0.description.mid == mid && fits($0.description) } }
        return media.firstIndex { $0.ssrc == packet.header.ssrc } ?? media.firstIndex { fits($0.description) }
    }

    package mutating func receive(_ packet: RTCPPacket, now: Instant) {
        guard case .senderReport(let report) = packet,
            let index = media.firstIndex(where: { $0.ssrc == report.ssrc })
        else { return }
        media[index].stream?.statistics.noteReport(report, at: now)
        media[index].sound?.statistics.noteReport(report, at: now)
    }

    /// Ends the streams of sources that have said goodbye.
    package mutating func end(_ ssrcs: [UInt32]) {
        for index in media.indices {
            guard let ssrc = media[index].ssrc, ssrcs.contains(ssrc) else { continue }
            (media[index].stream, media[index].sound) = (nil, nil)
        }
    }

    /// The frames that came since the last call, of all streams of a media description.
    package mutating func takeFrames() -> [ReceivedFrame] {
        media.indices.flatMap { media[$0].stream?.takeFrames() ?? [] }
    }

    /// The sound that came since the last call, of all streams of a media description.
    package mutating func takeSound() -> [ReceivedSound] { exchange(&sound, with: []) }

    /// Asks the peer for keyframes: the video decoders cannot use the present frames.
    package mutating func requestKeyframes() {
        for index in media.indices { media[index].stream?.requestKeyframe() }
    }

    // MARK: - Output

    /// Appends a datagram of RTCP for the peer, if one is due (RFC 3550 §6.1). Returns whether it was.
    ///
    /// - Parameters:
    ///   - ssrc: one of this side's.
    ///   - name: this side's canonical name.
    ///   - roundTripTime: nil if unknown.
    package mutating func writeFeedback(
        as ssrc: UInt32,
        named name: String,
        roundTripTime: Duration?,
        at now: Instant,
        to bytes: inout [UInt8]
    ) -> Bool {
        for index in media.indices { media[index].stream?.tick(now: now) }
        guard nextDeadline.map({ $0 <= now }) ?? false else { return false }
        let reportIsDue = reports.isDue(at: now)
        var blocks: [ReportBlock] = []
        if reportIsDue {
            blocks = media.indices.compactMap { index in
                guard let source = media[index].ssrc else { return nil }
                return media[index].stream?.statistics.takeReport(of: source, at: now)
                    ?? media[index].sound?.statistics.takeReport(of: source, at: now)
            }
            reports.reportSent(at: now)
        }
        ReceiverReport(ssrc: ssrc, reports: blocks).write(to: &bytes)
        RTCPPacket.write(canonicalName: name, of: [ssrc], to: &bytes)
        for index in media.indices {
            guard let source = media[index].stream?.ssrc else { continue }
            if media[index].stream!.takeKeyframeRequest(at: now) {
                PictureLossIndication(sender: ssrc, media: source).write(to: &bytes)
            }
            let lost = media[index].stream!.losses.takeRequests(roundTripTime: roundTripTime, at: now)
            if !lost.isEmpty { GenericNACK(sender: ssrc, media: source, lost: lost).write(to: &bytes) }
        }
        let first = media.lazy.compactMap(\.ssrc).first ?? 0
        arrivals.takeReport(from: ssrc, on: first, at: now)?.write(to: &bytes)
        return true
    }

    /// When there is feedback to write; nil while there is none to come. May lie in the past.
    package var nextDeadline: Instant? {
        earliest(
            reports.nextDeadline,
            arrivals.nextDeadline,
            media.lazy.compactMap { $0.stream?.nextDeadline }.min()
        )
    }
}

extension IncomingBundle.Description {
    package init(mid: String, extensions: HeaderExtensions) {
        (self.mid, self.extensions) = (mid, extensions)
    }
}
