package import Media

/// The tracks of a file: a picture, and sound if it was offered when the file began.
package struct WebMTracks: Equatable {
    package enum Track: UInt64 {
        case picture = 1
        case sound = 2
    }

    package let codec: VideoCodec
    /// Pixels of the first frame. Later ones may have another size.
    package let dimensions: (width: UInt16, height: UInt16)
    /// For `CodecPrivate`; nil for VP8 and VP9.
    package let av1: AV1Configuration?
    package let sound: OpusHead?

    package init(
        codec: VideoCodec,
        dimensions: (width: UInt16, height: UInt16),
        av1: AV1Configuration?,
        sound: OpusHead?
    ) {
        (self.codec, self.dimensions, self.av1, self.sound) = (codec, dimensions, av1, sound)
    }

    package static func == (one: Self, other: Self) -> Bool {
        one.codec == other.codec && one.dimensions == other.dimensions && one.av1 == other.av1
            && one.sound?.channels == other.sound?.channels
    }

    /// Screens are encoded by BT.601 in the limited range. Only VP9 and AV1 can say so themselves.
    private static let bt601: UInt64 = 6
    private static let limitedRange: UInt64 = 1
    /// As RFC 7845 §4.6 wants before the sound at which a player begins, in ns.
    private static let seekPreRoll: UInt64 = 80_000_000

    func write(into file: inout EBMLWriter) {
        file.master(.tracks) { tracks in
            tracks.master(.trackEntry) { entry in
                Self.begin(.picture, kind: 1, codecID, into: &entry)
                if let av1 { entry.binary(.codecPrivate, av1.record) }
                entry.master(.video) { video in
                    video.unsigned(.pixelWidth, UInt64(dimensions.width))
                    video.unsigned(.pixelHeight, UInt64(dimensions.height))
                    video.master(.colour) { colour in
                        colour.unsigned(.matrixCoefficients, Self.bt601)
                        colour.unsigned(.range, Self.limitedRange)
                    }
                }
            }
            guard let sound else { return }
            tracks.master(.trackEntry) { entry in
                Self.begin(.sound, kind: 2, "A_OPUS", into: &entry)
                entry.binary(.codecPrivate, sound.bytes)
                entry.unsigned(.codecDelay, UInt64(OpusHead.preSkip) * 1_000_000_000 / 48_000)
                entry.unsigned(.seekPreRoll, Self.seekPreRoll)
                entry.master(.audio) { audio in
                    audio.float(.samplingFrequency, 48_000)
                    audio.unsigned(.channels, UInt64(sound.channels))
                }
            }
        }
    }

    private static func begin(_ track: Track, kind: UInt64, _ codecID: String, into entry: inout EBMLWriter) {
        entry.unsigned(.trackNumber, track.rawValue)
        entry.unsigned(.trackUID, track.rawValue)
        entry.unsigned(.trackType, kind)
        entry.unsigned(.flagLacing, 0)
        entry.text(.language, "und")
        entry.text(.codecID, codecID)
    }

    private var codecID: String { codec.matroskaID }
}

extension VideoCodec {
    /// Of the registry of codecs (draft-ietf-cellar-codec).
    fileprivate var matroskaID: String {
        switch self {
        case .vp8: "V_VP8"
        case .vp9: "V_VP9"
        case .av1: "V_AV1"
        }
    }

    /// Nil for another codec.
    init?(matroskaID: ArraySlice<UInt8>) {
        guard let codec = Self.allCases.first(where: { matroskaID.elementsEqual($0.matroskaID.utf8) }) else {
            return nil
        }
        self = codec
    }
}
