import Helpers
import JSON
import Pixels
import Posix
import Publishing
import Recording
import Rendering

/// The recordings of a folder, as `oriel record list` shows them.
struct RecordingList {
    private let folder: RecordingFolder
    private let recordings: [ListedRecording]

    init(_ folder: String) throws {
        self.folder = try RecordingFolder(listing: folder)
        recordings = self.folder.recordings()
    }

    func print(json: Bool) throws {
        if json {
            Console.emit(try recordings.map { try $0.printableJSONLine() + "\n" }.joined())
        } else {
            let width = recordings.map(\.file.count).max() ?? 0
            Console.print(recordings.map { $0.line(width) })
        }
    }

    // MARK: - The contact sheet

    /// Of one sheet.
    private static let mostPictures = 1000
    /// Of a recording, without an interval.
    private static let usualPictures = 5

    /// Writes small pictures of all recordings into a file.
    ///
    /// - Parameter interval: between the pictures of a recording, in seconds; nil for the usual number of pictures.
    func writeContactSheet(to path: String, every interval: Int?) throws {
        try OutputFile.replace(path) { file in
            // Decoders read what others may have written.
            try enterSandbox(
                by: Sandbox(writable: Helpers.folder(ofFile: path), readable: [folder.path], socketFamilies: []).enter
            )
            let sheet = try contactSheet(every: interval.map { .seconds($0) })
            try file.writeAll(try PNGFile.bytes(rgb: sheet.rgb, size: sheet.size))
        }
    }

    private func contactSheet(every interval: Duration?) throws -> ContactSheet {
        var sheet = ContactSheet()
        var count = 0
        for recording in recordings {
            guard var pictures = try folder.pictures(of: recording) else { continue }
            let length = recording.lengthS.map { .seconds($0) } ?? pictures.length
            let interval = interval ?? length / Self.usualPictures
            sheet.addTitle(recording.line(0))
            for time in sequence(first: Duration.zero, next: { $0 + max(interval, .milliseconds(1)) }) {
                guard time < length || time == .zero else { break }
                guard let picture = try pictures.picture(at: time) else { break }
                count += 1
                guard count <= Self.mostPictures else {
                    throw Failure(
                        .usage,
                        "a sheet has \(Self.mostPictures) pictures at most: give a longer --every, or a folder with fewer recordings"
                    )
                }
                sheet.add(picture, label: ListedRecording.clock(time / .seconds(1)))
            }
        }
        guard count > 0 else {
            throw Failure(.failed, "there is no recording in \(folder.path): give a folder with --to")
        }
        return sheet
    }
}

extension ListedRecording {
    fileprivate func line(_ width: Int) -> String {
        let name = file + String(repeating: " ", count: max(0, width - file.count))
        let length = lengthS.map(Self.clock) ?? "is written"
        return "\(name)  \(length)  \(bytes / 1024) KiB" + (occasion.map { "  \($0)" } ?? "")
    }

    /// As `1:02:03`.
    fileprivate static func clock(_ seconds: Double) -> String {
        let seconds = Int(min(seconds.rounded(), 1e9))
        func two(_ number: Int) -> String { number < 10 ? "0\(number)" : "\(number)" }
        return "\(seconds / 3600):\(two(seconds / 60 % 60)):\(two(seconds % 60))"
    }
}
