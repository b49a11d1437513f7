import Glibc
import Posix

/// The file of one ring in one generation, opened by a reader, with a checked header.
struct OpenedRing: ~Copyable {
    let header: HeaderMetadata
    let file: FileDescriptor
    private let name: String
    private let directory: BridgeDirectory

    /// Opens a file, or sealed memory; nil if there is none.
    ///
    /// - Throws: `noAnswer`, `damaged`, `newerLayout`, `notPrivate` or `system`.
    init?(_ format: RingFormat, at name: String, in directory: BridgeDirectory) throws(BridgeError) {
        guard let file = try directory.openRing(name) else { return nil }
        let size = try directory.calling(on: name) { () throws(SystemError) in Int(try file.status().st_size) }
        let copy = try directory.calling(on: name) { () throws(SystemError) in try file.readBytes(64) }
        header = try HeaderMetadata(format, checking: copy.span.bytes, fileSize: size, path: directory.path(of: name))
        self.file = file
        self.name = name
        self.directory = directory
    }

    /// Reads at most `limit` bytes, fewer at the end of the file.
    func readBytes(_ limit: Int, at offset: Int) throws(BridgeError) -> [UInt8] {
        try directory.calling(on: name) { () throws(SystemError) in try file.readBytes(limit, at: offset) }
    }

    /// Maps the whole file.
    func map() throws(BridgeError) -> Mapping {
        try directory.calling(on: name) { () throws(SystemError) in
            try Mapping(file, size: header.fileBytes, writable: false)
        }
    }

    /// Maps the header alone, for another thread; nil if it cannot be mapped.
    func mapHeader() -> sending Mapping? { try? Mapping(file, size: Layout.page, writable: false) }

    /// Whether new readers would find it.
    var isInPlace: Bool { directory.kind(of: name) != nil }

    /// Whether the file is as long as its header says. After a cut, the rest of its last page reads as zeros, without a
    /// fault.
    var isLongEnough: Bool { (try? Int(file.status().st_size)) ?? 0 >= header.fileBytes }
}
