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

    /// Pixels: 925 pictures of one recording.
    private static let greatestHeight = 40_000
    /// How long the last picture of a recording may be shown after its last cluster has begun.
    private static let longestRest = Duration.seconds(35)
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
        for recording in recordings {
            // One that is written, removed or cannot be read meanwhile is left out.
            guard var pictures = try? folder.pictures(of: recording) else { continue }
            let length = min(
                recording.lengthS.map { .seconds($0) } ?? pictures.length,
                pictures.length + Self.longestRest
            )
            sheet.addTitle(recording.line(0))
            try check(sheet)
            for number in 0..<(interval == nil ? Self.usualPictures : Int.max) {
                let time = interval.map { $0 * number } ?? length / Self.usualPictures * number
                guard time < length || number == 0, let picture = try? pictures.picture(at: time) else { break }
                sheet.add(picture, label: ListedRecording.clock(time / .seconds(1)))
                try check(sheet)
            }
        }
        guard !sheet.size.isEmpty else {
            throw Failure(.failed, "there is no recording in \(folder.path): give a folder with --to")
        }
        return sheet
    }

    private func check(_ sheet: borrowing ContactSheet) throws {
        guard sheet.size.height > Self.greatestHeight else { return }
        throw Failure(.usage, "the sheet would be too long: give a longer --every, or a folder with fewer recordings")
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
