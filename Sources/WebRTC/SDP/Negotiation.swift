package import Media
import RTP

/// The reason why an offer cannot be answered with a stream.
package enum UnacceptableOffer: Error, Equatable, CustomStringConvertible {
    /// No media description asks to receive video.
    case noVideo
    /// The offer has none of this sender's codecs. The names are those in the offer.
    case noCommonCodec(offered: [String])
    /// A part that WebRTC demands is missing or malformed.
    case incomplete(String)

    package var description: String {
        switch self {
        case .noVideo: "the offer asks for no video: offer a recvonly video description"
        case .noCommonCodec(let offered):
            "none of the offered codecs (\(offered.joined(separator: ", "))) is sent here: offer VP8, VP9 or AV1"
        case .incomplete(let what): "the offer \(what)"
        }
    }
}

/// The agreement of an offer and this sender: a pure function of both (RFC 9429 §5.3).
///
/// Each stream gets a description of its kind without a stream so far, within the bundle of the first stream. Best is
/// the first description that receives the stream and sends one that this side receives, then one that only receives,
/// then one that only sends. The description with the bundle's transport (RFC 9143 §7.3.1) is accepted even without a
/// stream, since its rejection would reject the whole bundle. All others are rejected.
package struct Negotiation: Equatable, Sendable {
    package let agreement: Agreement
    let offer: SessionDescription
    /// The description with the transport: the first of the bundle, or the one that gets the stream.
    let tagged: Int
    /// The mids of the bundle of the streams, if there is one.
    let bundle: [String]?

    /// The screen, and the sound if the offer asks for it.
    ///
    /// - Parameters:
    ///   - codecs: the video codecs, in groups. Of each group, the first one in the offer is agreed on.
    ///   - receives: whether this side receives the peer's picture in the same description.
    ///   - sound: nil for none.
    package init(
        offer: SessionDescription,
        codecs: [[VideoCodec]],
        receives: Bool = false,
        sound: LocalStream? = nil
    ) throws(UnacceptableOffer) {
        let screen = LocalStream.screen(codecs, receives: receives)
        try self.init(offer: offer, streams: [screen] + [sound].compactMap(\.self))
        // A viewer that cannot see is told the reason. It does not get sound alone.
        guard agreement.video == nil else { return }
        if offer.media.contains(where: { $0.rank(for: screen, in: offer) != nil }) {
            _ = try Negotiation(offer: offer, streams: [screen])
        }
    }

    /// - Parameter locals: the streams to send. One that the offer does not ask for is left out.
    package init(offer: SessionDescription, streams locals: [LocalStream]) throws(UnacceptableOffer) {
        var taken: Set<Int> = []
        var agreed: [AgreedStream] = []
        var bundle: [String]?
        var reason: UnacceptableOffer?
        for local in locals.prefix(StreamBundle.limit) {
            let ranks = offer.media.indices.filter { !taken.contains($0) }.compactMap { index in
                offer.media[index].rank(for: local, in: offer).map { (index: index, rank: $0) }
            }
            guard let section = ranks.min(by: { $0.rank < $1.rank })?.index else {
                reason = reason ?? .noVideo
                continue
            }
            taken.insert(section)
            do throws(UnacceptableOffer) {
                let stream = try offer.stream(local, in: section)
                if agreed.isEmpty {
                    bundle = offer.bundle(of: offer.media[section])
                } else if !(bundle ?? []).contains(stream.mid) || agreed.contains(where: { $0.mid == stream.mid }) {
                    continue
                }
                agreed.append(stream)
            } catch {
                reason = reason ?? error
            }
        }
        guard !agreed.isEmpty else { throw reason ?? .noVideo }
        agreed.sort { $0.section < $1.section }
        tagged = offer.tagged(in: bundle ?? [], for: agreed.map(\.section))
        self.offer = offer
        self.bundle = bundle
        do throws(Shortcoming) {
            agreement = try Agreement(agreed, in: offer, tagged: tagged, isOffer: true)
        } catch {
            throw .incomplete(error.what)
        }
    }

    /// The media descriptions with the candidates of the streams: all of the bundle (RFC 9143 §7.3.1).
    package var bundledMids: [String] { bundle ?? [agreement.streams[0].mid] }

    /// The `m=` line and the name of the description with the transport, for fragments (RFC 8840 §4.4).
    package var transportSection: (kind: String, mid: String) {
        (offer.media[tagged].kind, offer.media[tagged].attributes.first("mid") ?? "")
    }
}

extension SessionDescription {
    /// The common part of a stream, in a description that asks for it.
    fileprivate func stream(_ local: LocalStream, in section: Int) throws(UnacceptableOffer) -> AgreedStream {
        do throws(Shortcoming) {
            if let stream = try media[section].stream(local, in: self, section) { return stream }
        } catch {
            throw .incomplete("\(error.what): offer \(error.remedy)")
        }
        if local.kind == "audio" { throw .incomplete("asks for sound without Opus: offer opus/48000/2") }
        throw .noCommonCodec(offered: media[section].encodingNames)
    }
}
