import Containers
import Glibc
import Posix

/// A recording in a folder, as `oriel record list` shows it. Names and units are those of its JSON.
package struct ListedRecording: Encodable, Equatable {
    package let file: String
    package let bytes: UInt64
    /// Absent until the file is whole.
    package let lengthS: Double?
    /// `motion`, `command` or `replay`; absent where everything was recorded.
    package let occasion: String?
}

extension RecordingFolder {
    /// The recordings that Oriel has written, by name.
    package func recordings() -> [ListedRecording] {
        directory.entries().sorted().compactMap { name in
            let isWhole = name.hasSuffix(FileName.ending)
            guard isWhole || name.hasSuffix(FileName.ending + FileName.part) else { return nil }
            return try? recording(name, isWhole: isWhole)
        }
    }

    private func recording(_ name: String, isWhole: Bool) throws(SystemError) -> ListedRecording? {
        let file = try directory.open(name, O_RDONLY | O_NONBLOCK)
        let info = try file.status()
        guard info.st_mode & S_IFMT == S_IFREG else { return nil }
        let bytes = try file.readBytes(WebMHead.longest)
        guard let head = WebMHead(bytes) else { return nil }
        return ListedRecording(
            file: name,
            bytes: UInt64(info.st_size),
            lengthS: isWhole ? head.duration(in: bytes).map { $0 / 1000 } : nil,
            occasion: FileName.occasion(in: name)?.rawValue
        )
    }
}
