import Containers
import Glibc
package import Pixels
import Posix
import VideoDecoding

/// Shows a recording at times that grow.
package struct RecordingPictures: ~Copyable {
    /// How long it is at least, from its first picture on.
    package let length: Duration
    private let file: FileDescriptor
    private var reader: WebMReader
    private var decoder: VideoDecoder
    /// The next picture, if it was read already.
    private var next: WebMReader.Picture?
    private var shown = PlanarPicture()

    /// - Parameter file: that of the reader.
    fileprivate init(
        _ reader: WebMReader,
        _ decoder: consuming VideoDecoder,
        length: Duration,
        file: consuming FileDescriptor
    ) {
        self.length = length
        self.file = file
        self.reader = reader
        self.decoder = decoder
    }

    /// The picture that a player shows at a time since the beginning; nil if there is none that can be decoded.
    package mutating func picture(at time: Duration) throws -> PlanarPicture? {
        try reader.skip(to: time)
        while let next = try next ?? reader.next() {
            self.next = next
            if next.time > time { break }
            self.next = nil
            // A damaged frame is left out, as players do.
            _ = try? decoder.decode(next.frame.span, into: &shown)
        }
        return shown.size.isEmpty ? nil : shown
    }
}

extension RecordingFolder {
    /// Nil for a file without pictures.
    package func pictures(of recording: ListedRecording) throws -> RecordingPictures? {
        let file = try directory.open(recording.file, O_RDONLY | O_NONBLOCK)
        // A descriptor is no part of a closure.
        let raw = file.raw
        let reader = try WebMReader(length: UInt64(try file.status().st_size)) { offset, count in
            try readBytes(of: raw, count, at: offset)
        }
        guard var reader else { return nil }
        let length = try reader.lastCluster()
        return RecordingPictures(reader, try VideoDecoder(reader.codec), length: length, file: file)
    }
}
