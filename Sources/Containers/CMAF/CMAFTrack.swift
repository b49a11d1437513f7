/// A track of CMAF (ISO/IEC 23000-19): each is a stream of its own, with a header and segments.
package enum CMAFTrack: Equatable {
    /// AV1, by the AV1 Codec ISO Media File Format Binding.
    case av1(AV1Configuration, width: UInt16, height: UInt16)
    /// VP9, by the VP Codec ISO Media File Format Binding.
    case vp9(width: UInt16, height: UInt16)
    /// Opus, by Encapsulation of Opus in ISO Base Media File Format.
    case opus(channels: Int)

    /// Units of time in a second.
    package var timescale: Int { isPicture ? 90_000 : 48_000 }

    package var isPicture: Bool { if case .opus = self { false } else { true } }

    /// Of tracks that are played together, each has another one.
    var number: UInt64 { isPicture ? 1 : 2 }

    /// The header: it comes before the first segment.
    package var header: [UInt8] {
        var file = BoxWriter()
        file.box("ftyp") { box in
            box.text("iso6")
            box.number(0, count: 4)
            box.text("iso6")
            box.text("cmfc")
            if case .av1 = self { box.text("av01") }
        }
        file.box("moov") { moov in
            moov.fullBox("mvhd") { box in
                box.zeros(8)
                box.number(UInt64(timescale), count: 4)
                box.number(0, count: 4)
                box.number(0x0001_0000, count: 4)  // rate
                box.number(0x0100, count: 2)  // volume
                box.zeros(10)
                Self.matrix(into: &box)
                box.zeros(24)
                box.number(number + 1, count: 4)
            }
            track(into: &moov)
            moov.box("mvex") { mvex in
                mvex.fullBox("trex") { box in
                    box.number(number, count: 4)
                    box.number(1, count: 4)  // the sample description
                    box.zeros(12)
                }
            }
        }
        return file.bytes
    }

    private func track(into moov: inout BoxWriter) {
        moov.box("trak") { trak in
            // Enabled, in the movie, and in its preview.
            trak.fullBox("tkhd", flags: 7) { box in
                box.zeros(8)
                box.number(number, count: 4)
                box.zeros(4 + 4 + 8 + 4)
                box.number(isPicture ? 0 : 0x0100, count: 2)  // volume
                box.zeros(2)
                Self.matrix(into: &box)
                let (width, height) = dimensions
                box.number(UInt64(width) << 16, count: 4)
                box.number(UInt64(height) << 16, count: 4)
            }
            trak.box("mdia") { mdia in
                mdia.fullBox("mdhd") { box in
                    box.zeros(8)
                    box.number(UInt64(timescale), count: 4)
                    box.zeros(4)
                    box.number(0x55C4, count: 2)  // language: und
                    box.zeros(2)
                }
                mdia.fullBox("hdlr") { box in
                    box.zeros(4)
                    box.text(isPicture ? "vide" : "soun")
                    box.zeros(12 + 1)
                }
                mdia.box("minf") { media(into: &$0) }
            }
        }
    }

    private var dimensions: (width: UInt16, height: UInt16) {
        switch self {
        case .av1(_, let width, let height), .vp9(let width, let height): (width, height)
        case .opus: (0, 0)
        }
    }

    private func media(into minf: inout BoxWriter) {
        if isPicture {
            minf.fullBox("vmhd", flags: 1) { $0.zeros(8) }
        } else {
            minf.fullBox("smhd") { $0.zeros(4) }
        }
        minf.box("dinf") { dinf in
            dinf.fullBox("dref") { box in
                box.number(1, count: 4)
                box.fullBox("url ", flags: 1) { _ in }  // in this file
            }
        }
        minf.box("stbl") { stbl in
            stbl.fullBox("stsd") { box in
                box.number(1, count: 4)
                description(into: &box)
            }
            for type in ["stts", "stsc", "stco"] as [String] { stbl.fullBox(type) { $0.zeros(4) } }
            stbl.fullBox("stsz") { $0.zeros(8) }
        }
    }

    private func description(into stsd: inout BoxWriter) {
        switch self {
        case .av1(let configuration, _, _):
            picture("av01", into: &stsd) { $0.box("av1C") { $0.append(configuration.record) } }
        case .vp9:
            picture("vp09", into: &stsd) { entry in
                entry.fullBox("vpcC", version: 1) { box in
                    // Profile 0, the level that takes any size, 8 bits, 4:2:0, limited range, and the colours of `colr`.
                    box.append([0, 62, 8 << 4 | 1 << 1, Self.primaries, Self.transfer, Self.bt601, 0, 0])
                }
            }
        case .opus(let channels):
            stsd.box("Opus") { box in
                box.zeros(6)
                box.number(1, count: 2)
                box.zeros(8)
                box.number(UInt64(channels), count: 2)
                box.number(16, count: 2)
                box.zeros(4)
                box.number(48_000 << 16, count: 4)
                box.box("dOps") { dOps in
                    dOps.append([0, UInt8(channels)])
                    dOps.number(UInt64(OpusHead.preSkip), count: 2)
                    dOps.number(48_000, count: 4)
                    dOps.zeros(3)
                }
            }
        }
    }

    /// By ITU-T H.273: those of BT.709 are those of sRGB. The matrix is that of BT.601, and the range is limited.
    private static let primaries: UInt8 = 1
    private static let transfer: UInt8 = 13
    private static let bt601: UInt8 = 6

    private func picture(_ type: String, into stsd: inout BoxWriter, _ more: (inout BoxWriter) -> Void) {
        stsd.box(type) { box in
            box.zeros(6)
            box.number(1, count: 2)
            box.zeros(16)
            box.number(UInt64(dimensions.width), count: 2)
            box.number(UInt64(dimensions.height), count: 2)
            box.number(0x0048_0000, count: 4)  // dots per inch
            box.number(0x0048_0000, count: 4)
            box.zeros(4)
            box.number(1, count: 2)
            box.zeros(32)
            box.number(24, count: 2)
            box.number(0xFFFF, count: 2)
            more(&box)
            box.box("colr") { colr in
                colr.text("nclx")
                colr.number(UInt64(Self.primaries), count: 2)
                colr.number(UInt64(Self.transfer), count: 2)
                colr.number(UInt64(Self.bt601), count: 2)
                colr.number(0, count: 1)
            }
        }
    }

    /// Of a picture that is neither turned nor moved.
    private static func matrix(into box: inout BoxWriter) {
        for value in [0x0001_0000, 0, 0, 0, 0x0001_0000, 0, 0, 0, 0x4000_0000] as [UInt64] {
            box.number(value, count: 4)
        }
    }
}
