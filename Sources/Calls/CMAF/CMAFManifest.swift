import Containers
import Media

/// A description of the tracks, by which servers and players know the names of segments (ISO/IEC 23009-1).
struct CMAFManifest {
    let tracks: [CMAFTrack]
    /// Of a segment, in ms.
    let length: Int
    /// Of the picture, bits a second.
    let bitrate: Int

    var text: String {
        """
        <?xml version="1.0" encoding="utf-8"?>
        <MPD xmlns="urn:mpeg:dash:schema:mpd:2011" profiles="urn:mpeg:dash:profile:isoff-live:2011" type="dynamic" \
        availabilityStartTime="1970-01-01T00:00:00Z" minimumUpdatePeriod="PT60S" minBufferTime="PT2S">
        <Period id="1" start="PT0S">
        \(tracks.map(set).joined(separator: "\n"))
        </Period>
        </MPD>

        """
    }

    private func set(of track: CMAFTrack) -> String {
        let kind = track.name
        return """
            <AdaptationSet contentType="\(kind)" mimeType="\(kind)/mp4" segmentAlignment="true" startWithSAP="1">
            <SegmentTemplate timescale="1000" duration="\(length)" startNumber="0" \
            initialization="$RepresentationID$/init.mp4" media="$RepresentationID$/$Number$.m4s"/>
            <Representation id="\(kind)" codecs="\(track.codecs)" \(track.attributes(bitrate: bitrate))/>
            </AdaptationSet>
            """
    }
}

extension CMAFTrack {
    /// The folder of its segments.
    var name: String { isPicture ? "video" : "audio" }

    fileprivate var codecs: String {
        switch self {
        case .av1(let configuration, _, _): configuration.codecString
        case .vp9: "vp09.00.62.08"
        case .opus: "opus"
        }
    }

    fileprivate func attributes(bitrate: Int) -> String {
        switch self {
        case .av1(_, let width, let height), .vp9(let width, let height):
            "bandwidth=\"\(bitrate)\" width=\"\(width)\" height=\"\(height)\""
        case .opus: "bandwidth=\"96000\" audioSamplingRate=\"48000\""
        }
    }
}
