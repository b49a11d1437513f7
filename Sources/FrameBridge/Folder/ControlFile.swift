import Glibc
import Posix

/// The file `control`: requests to a capture process, its answers, and the state for its successor. All pages exist
/// from the start and are overwritten in place. So a pause takes no byte of the file system, and outlives a process
/// that is killed at any instruction.
final class ControlFile {
    static let fileName = "control"

    /// A page: a text, and a number that tells texts apart.
    enum Page: Int, CaseIterable {
        /// The last request, under the asker's random number; empty if the asker took it back.
        case request
        /// The answer to the request of the same number: empty if granted, else a sentence with the reason.
        case answer
        /// Not empty while the broadcast is paused.
        case pause
        /// The source, in the words of the capture process.
        case source
    }

    struct Record: Equatable {
        /// Never 0.
        let number: UInt64
        let text: String
    }

    static let longestText = Layout.page - headBytes
    /// The number, the length of the text in bytes, and the checksum of both and of the text.
    private static let headBytes = 16
    private static let fileBytes = Page.allCases.count * Layout.page

    private let file: FileDescriptor

    /// Opens the file of this or another process; nil if it is missing, or no such file.
    init?(in directory: BridgeDirectory, _ access: Int32) throws(BridgeError) {
        guard let file = try directory.open(Self.fileName, access),
            let size = try? file.status().st_size, size >= Self.fileBytes
        else { return nil }
        self.file = file
    }

    /// Makes the file anew, with all its blocks.
    ///
    /// - Throws: `noSpace`, or `system`.
    init(makingIn directory: BridgeDirectory, pause: String, source: String) throws(BridgeError) {
        let temporary = "." + Self.fileName
        directory.remove(temporary)
        do throws(SystemError) {
            file = try directory.descriptor.open(temporary, O_RDWR | O_CREAT | O_EXCL)
        } catch {
            throw .writing(Self.fileName, Self.fileBytes, in: directory, error)
        }
        do throws(SystemError) {
            try allocate()
            try file.write([UInt8](repeating: 0, count: Self.fileBytes), at: 0)
            try write(pause, to: .pause)
            try write(source, to: .source)
            try check("rename") {
                renameat(directory.descriptor.raw, temporary, directory.descriptor.raw, Self.fileName)
            }
        } catch {
            directory.remove(temporary)
            throw .writing(Self.fileName, Self.fileBytes, in: directory, error)
        }
    }

    /// Makes sure that all its blocks are there.
    func allocate() throws(SystemError) { try file.allocate(Self.fileBytes) }

    /// The request without an answer that was not taken back.
    var waitingRecord: Record? {
        guard let record = read(.request), !record.text.isEmpty, record.number != read(.answer)?.number else {
            return nil
        }
        return record
    }

    /// The request of `waitingRecord`; nil if its text is not a known request.
    var waitingRequest: BridgeRequest? { waitingRecord.flatMap { BridgeRequest(text: $0.text) } }

    /// The answer to a request; nil if there is none.
    func answer(to request: Record) -> BridgeAnswer? {
        guard let answer = read(.answer), answer.number == request.number else { return nil }
        return answer.text.isEmpty ? .granted : .refused(answer.text)
    }

    /// Whether the folder still has this file.
    func isInPlace(in directory: BridgeDirectory) -> Bool {
        guard let mine = try? file.status(), mine.st_size >= Self.fileBytes else { return false }
        return directory.attributes(of: Self.fileName)?.st_ino == mine.st_ino
    }

    /// The text of a page and its number; nil if the page was never written, or is damaged.
    func read(_ page: Page) -> Record? {
        guard let bytes = try? file.readBytes(Layout.page, at: page.rawValue * Layout.page), bytes.count == Layout.page
        else { return nil }
        let number = bytes.span.bytes.unsafeLoad(fromByteOffset: 0, as: UInt64.self)
        let count = Int(bytes.span.bytes.unsafeLoad(fromByteOffset: 8, as: UInt32.self))
        let checksum = bytes.span.bytes.unsafeLoad(fromByteOffset: 12, as: UInt32.self)
        guard number != 0, count <= Self.longestText else { return nil }
        let text = bytes[Self.headBytes..<Self.headBytes + count]
        guard checksum == Self.checksum(bytes[..<12], text) else { return nil }
        return Record(number: number, text: String(decoding: text, as: UTF8.self))
    }

    /// Replaces a page by one system call.
    func write(_ record: Record, to page: Page) throws(SystemError) {
        let text = Array(record.text.utf8)
        guard text.count <= Self.longestText else { throw SystemError("pwrite", code: EFBIG) }
        var head = withUnsafeBytes(of: record.number.littleEndian) { Array($0) }
        withUnsafeBytes(of: UInt32(text.count).littleEndian) { head += $0 }
        withUnsafeBytes(of: Self.checksum(head[...], text[...]).littleEndian) { head += $0 }
        try file.write(head + text, at: page.rawValue * Layout.page)
    }

    /// Replaces a page, under a new number.
    func write(_ text: String, to page: Page) throws(SystemError) {
        try write(Record(number: .random(in: 1 ... .max), text: text), to: page)
    }

    private static func checksum(_ head: ArraySlice<UInt8>, _ text: ArraySlice<UInt8>) -> UInt32 {
        let bytes = Array(head) + text
        return CRC32C.checksum(bytes.span.bytes)
    }
}

extension BridgeError {
    static func writing(_ file: String, _ bytes: Int, in directory: BridgeDirectory, _ error: SystemError)
        -> BridgeError
    {
        // A mapping takes memory of this process alone.
        let isFull = error.code == ENOSPC || error.code == EDQUOT || error.code == ENOMEM && error.call != "mmap"
        return isFull ? .noSpace(path: directory.path, bytes: bytes) : .system(path: directory.path(of: file), error)
    }
}
