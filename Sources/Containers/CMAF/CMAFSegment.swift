/// A segment of a track: frames one after the other, the first of which is a keyframe.
package struct CMAFSegment {
    package struct Sample: Equatable {
        package let bytes: [UInt8]
        /// Units of the track's timescale, until the next one is shown.
        package let duration: Int
        package let isKeyframe: Bool

        package init(_ bytes: [UInt8], duration: Int, isKeyframe: Bool) {
            (self.bytes, self.duration, self.isKeyframe) = (bytes, duration, isKeyframe)
        }
    }

    package enum Mark: Equatable {
        /// It only fills time in which there is nothing.
        case filler
        /// Nothing follows it.
        case last
    }

    package let track: CMAFTrack
    /// Counts the segments of a track from 1.
    package let number: UInt32
    /// When its first sample is shown, in units of the track's timescale.
    package let time: UInt64
    /// When its first sample was captured, in seconds since 1970, UTC.
    package let date: Double
    package let samples: [Sample]
    package let mark: Mark?

    package init(
        of track: CMAFTrack,
        number: UInt32,
        at time: UInt64,
        date: Double,
        _ samples: [Sample],
        mark: Mark? = nil
    ) {
        (self.track, self.number, self.time, self.date) = (track, number, time, date)
        (self.samples, self.mark) = (samples, mark)
    }

    /// A sample that needs no other, and one that does (ISO/IEC 14496-12 §8.8.3.1).
    private static let independent: UInt64 = 0x0200_0000
    private static let dependent: UInt64 = 0x0101_0000

    package var bytes: [UInt8] {
        var file = BoxWriter()
        file.box("styp") { box in
            box.text("msdh")
            box.number(0, count: 4)
            box.text("msdh")
            switch mark {
            case .filler: box.text("slat")
            case .last: box.text("lmsg")
            case nil: break
            }
        }
        // The wall clock's time of the first sample (§8.16.5), by RFC 5905 §6.
        file.fullBox("prft", version: 1, flags: 24) { box in
            box.number(track.number, count: 4)
            box.number(Self.ntp(date), count: 8)
            box.number(time, count: 8)
        }
        let start = file.bytes.count
        var offsetAt = 0
        file.box("moof") { moof in
            moof.fullBox("mfhd") { $0.number(UInt64(number), count: 4) }
            moof.box("traf") { traf in
                // Offsets count from the beginning of this box.
                traf.fullBox("tfhd", flags: 0x02_0000) { $0.number(track.number, count: 4) }
                traf.fullBox("tfdt", version: 1) { $0.number(time, count: 8) }
                // Offset of the content; duration, size and flags of each sample.
                traf.fullBox("trun", flags: 0x0701) { trun in
                    trun.number(UInt64(samples.count), count: 4)
                    offsetAt = trun.bytes.count
                    trun.number(0, count: 4)
                    for sample in samples {
                        trun.number(UInt64(sample.duration), count: 4)
                        trun.number(UInt64(sample.bytes.count), count: 4)
                        trun.number(sample.isKeyframe ? Self.independent : Self.dependent, count: 4)
                    }
                }
            }
        }
        file.patch(file.bytes.count - start + 8, at: offsetAt)
        file.box("mdat") { mdat in
            for sample in samples { mdat.append(sample.bytes) }
        }
        return file.bytes
    }

    private static func ntp(_ date: Double) -> UInt64 {
        let secondsTo1970 = 2_208_988_800.0
        return UInt64(max(0, min((date + secondsTo1970) * 4_294_967_296, 1.8e19)))
    }
}
