import Containers
import Posix

/// A recording that is being written: `NAME.webm.part`, until it is whole. The lock on it tells other recorders so.
struct PartFile: ~Copyable {
    /// Bytes that are reserved ahead, and how many are left at least: with them, a file is made whole on a full disk.
    private static let reserved: UInt64 = 1 << 20
    private static let leastReserved: UInt64 = 256 << 10

    let name: String
    private let file: FileDescriptor
    private let folder: RecordingFolder
    private(set) var length: UInt64 = 0
    private var reservedEnd: UInt64 = 0
    /// Whether something has not been synchronized.
    private(set) var isDirty = false

    init(_ name: String, _ file: consuming FileDescriptor, in folder: RecordingFolder) {
        (self.name, self.folder) = (name, folder)
        self.file = file
    }

    /// Appends two parts of one element, or nothing.
    ///
    /// - Throws: if the disk is full, before the room for an end is used.
    mutating func append(_ head: [UInt8], _ content: [UInt8]) throws(SystemError) {
        let end = length + UInt64(head.count + content.count)
        if end + Self.leastReserved > reservedEnd {
            let next = end + Self.reserved
            try file.reserve(Int(next - reservedEnd), at: reservedEnd)
            reservedEnd = next
        }
        do throws(SystemError) { try file.write(head, content, at: length) } catch {
            // A part of an element would be all that is there.
            try? file.truncate(to: length)
            throw error
        }
        length = end
        isDirty = true
    }

    mutating func apply(_ patch: WebMPatch) throws(SystemError) {
        try file.write(patch.bytes, [], at: patch.offset)
        isDirty = true
    }

    mutating func synchronize() throws(SystemError) {
        isDirty = false
        try file.synchronize()
    }

    /// - Returns: the name of the whole file.
    consuming func end(_ end: WebMEnd) throws(SystemError) -> String {
        try file.apply(end)
        return try folder.place(name)
    }

    /// Ends a file that can no longer be written, as on a full disk, with what it has.
    ///
    /// - Returns: nil if there is no picture in it.
    consuming func salvage() throws(SystemError) -> String? {
        if case .repaired(let name) = try folder.mend(file, name) { name } else { nil }
    }
}
