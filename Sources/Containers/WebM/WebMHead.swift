import Media

/// The beginning of a file, up to its first cluster, with room for the facts that are known at its end. Offsets are of the file.
package struct WebMHead: Equatable {
    /// The name of this writer, by which files of others are told apart.
    package static let application = "Oriel"
    /// Bytes that a beginning is shorter than.
    package static let longest = 4096
    /// Bytes for three entries of the seek head.
    private static let seekHeadLength = 100
    /// Bytes of the ID, the size and the value.
    private static let durationLength = 11

    /// Of the segment's size.
    let segmentSizeAt: UInt64
    /// Of the segment's content. Places in the file are counted from here (RFC 9559 §16).
    package let contentAt: UInt64
    let seekHeadAt: UInt64
    let infoAt: UInt64
    let durationAt: UInt64
    let tracksAt: UInt64
    /// Of the first cluster.
    package let endAt: UInt64

    /// - Parameters:
    ///   - title: shown by players; nil for none.
    ///   - date: of the first frame, in seconds since 1970, UTC.
    static func make(_ tracks: WebMTracks, title: String?, date: Double) -> (head: WebMHead, bytes: [UInt8]) {
        var file = EBMLWriter()
        file.master(.ebml) { ebml in
            ebml.unsigned(.ebmlVersion, 1)
            ebml.unsigned(.ebmlReadVersion, 1)
            ebml.unsigned(.ebmlMaxIDLength, 4)
            ebml.unsigned(.ebmlMaxSizeLength, 8)
            ebml.text(.docType, "webm")
            ebml.unsigned(.docTypeVersion, 4)
            ebml.unsigned(.docTypeReadVersion, 2)
        }
        file.openMaster(.segment)
        let contentAt = file.bytes.count
        file.void(length: seekHeadLength)
        let infoAt = file.bytes.count
        file.master(.info) { info in
            info.unsigned(.timestampScale, 1_000_000)
            info.text(.muxingApp, application)
            info.text(.writingApp, application)
            info.signed(.dateUTC, Int64(max(-9e18, min((date - secondsTo2001) * 1e9, 9e18))))
            if let title { info.text(.title, title) }
            info.void(length: durationLength)
        }
        let tracksAt = file.bytes.count
        tracks.write(into: &file)
        let head = WebMHead(
            segmentSizeAt: UInt64(contentAt - EBMLWriter.openSizeLength),
            contentAt: UInt64(contentAt),
            seekHeadAt: UInt64(contentAt),
            infoAt: UInt64(infoAt),
            durationAt: UInt64(tracksAt - durationLength),
            tracksAt: UInt64(tracksAt),
            endAt: UInt64(file.bytes.count)
        )
        return (head, file.bytes)
    }

    /// Between the epochs of Unix and of Matroska's dates.
    private static let secondsTo2001 = 978_307_200.0

    // MARK: - The end of a file

    /// What a whole file has in the places that were left free.
    ///
    /// - Parameters:
    ///   - cuesAt: nil without cues.
    ///   - end: of the file.
    ///   - duration: ms.
    func patches(cuesAt: UInt64?, end: UInt64, duration: Double) -> [WebMPatch] {
        var seekHead = EBMLWriter()
        seekHead.master(.seekHead) { entries in
            let places: [(MatroskaID, UInt64)] =
                [(.info, infoAt), (.tracks, tracksAt)] + (cuesAt.map { [(.cues, $0)] } ?? [])
            for (id, place) in places {
                entries.master(.seek) { entry in
                    entry.binary(.seekID, [24, 16, 8, 0].map { UInt8(truncatingIfNeeded: id.rawValue >> $0) })
                    entry.unsigned(.seekPosition, place - contentAt)
                }
            }
        }
        seekHead.void(length: Self.seekHeadLength - seekHead.bytes.count)
        var length = EBMLWriter()
        length.float(.duration, duration)
        let size = EBMLWriter.size(Int(end - contentAt), length: EBMLWriter.openSizeLength)
        return [
            WebMPatch(offset: seekHeadAt, bytes: seekHead.bytes), WebMPatch(offset: durationAt, bytes: length.bytes),
            WebMPatch(offset: segmentSizeAt, bytes: size),
        ]
    }

    // MARK: - Reading

    /// Finds the places again; nil for a file of another writer, or one whose beginning is damaged.
    ///
    /// - Parameter bytes: the first of the file; `longest` are enough.
    package init?(_ bytes: [UInt8]) {
        var reader = EBMLScanner(bytes)
        guard let ebml = reader.next(), ebml.is(.ebml), let size = ebml.size, size < 64 else { return nil }
        guard reader.contains(MatroskaID.docType, "webm", within: Int(size)) else { return nil }
        reader.skip(Int(size))
        guard let segment = reader.next(), segment.is(.segment), segment.headLength == 4 + EBMLWriter.openSizeLength
        else { return nil }
        contentAt = UInt64(reader.position)
        segmentSizeAt = contentAt - UInt64(EBMLWriter.openSizeLength)
        seekHeadAt = contentAt
        reader.skip(Self.seekHeadLength)
        infoAt = UInt64(reader.position)
        guard let info = reader.next(), info.is(.info), let infoSize = info.size, infoSize < 2048,
            reader.contains(MatroskaID.writingApp, Self.application, within: Int(infoSize))
        else { return nil }
        reader.skip(Int(infoSize))
        tracksAt = UInt64(reader.position)
        durationAt = tracksAt - UInt64(Self.durationLength)
        guard let tracks = reader.next(), tracks.is(.tracks), let tracksSize = tracks.size, tracksSize < 2048 else {
            return nil
        }
        reader.skip(Int(tracksSize))
        guard reader.position <= bytes.count else { return nil }
        endAt = UInt64(reader.position)
    }

    /// The length of a whole file in ms; nil for one that was not ended.
    ///
    /// - Parameter bytes: those of `init`.
    package func duration(in bytes: [UInt8]) -> Double? {
        let place = Int(durationAt)..<Int(tracksAt)
        guard place.upperBound <= bytes.count, let element = EBMLElement(bytes[place]), element.is(.duration),
            element.size == 8
        else { return nil }
        let bits = bytes[place].suffix(8).reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let value = Double(bitPattern: bits)
        return value >= 0 && value < Double(WebMScanner.longestTime) ? value : nil
    }

    /// The codec of the picture; nil if it is none of Oriel's.
    ///
    /// - Parameter bytes: those of `init`.
    func codec(in bytes: [UInt8]) -> VideoCodec? {
        var reader = EBMLScanner(bytes)
        reader.skip(Int(tracksAt))
        guard reader.next() != nil, let entry = reader.next(), entry.is(.trackEntry), let size = entry.size,
            size < 2048
        else { return nil }
        return reader.find(.codecID, within: Int(size)).flatMap(VideoCodec.init(matroskaID:))
    }

    /// Reads elements one after the other.
    private struct EBMLScanner {
        private let bytes: [UInt8]
        private(set) var position = 0

        init(_ bytes: [UInt8]) { self.bytes = bytes }

        /// The beginning of an element, which is then passed.
        mutating func next() -> EBMLElement? {
            guard position < bytes.count, let element = EBMLElement(bytes[position...]) else { return nil }
            position += element.headLength
            return element
        }

        mutating func skip(_ count: Int) { position += count }

        /// The content of an element among the next ones.
        func find(_ id: MatroskaID, within count: Int) -> ArraySlice<UInt8>? {
            guard position + count <= bytes.count else { return nil }
            var rest = bytes[position..<position + count]
            while let element = EBMLElement(rest), let size = element.size, size <= rest.count - element.headLength {
                let content = rest.dropFirst(element.headLength).prefix(Int(size))
                if element.is(id) { return content }
                rest = rest[content.endIndex...]
            }
            return nil
        }

        func contains(_ id: MatroskaID, _ text: String, within count: Int) -> Bool {
            find(id, within: count)?.elementsEqual(text.utf8) ?? false
        }
    }
}

extension WebMHead {
    private init(
        segmentSizeAt: UInt64,
        contentAt: UInt64,
        seekHeadAt: UInt64,
        infoAt: UInt64,
        durationAt: UInt64,
        tracksAt: UInt64,
        endAt: UInt64
    ) {
        (self.segmentSizeAt, self.contentAt, self.seekHeadAt) = (segmentSizeAt, contentAt, seekHeadAt)
        (self.infoAt, self.durationAt, self.tracksAt, self.endAt) = (infoAt, durationAt, tracksAt, endAt)
    }
}

/// Bytes that replace others of the same number.
package struct WebMPatch: Equatable {
    package let offset: UInt64
    package let bytes: [UInt8]
}
