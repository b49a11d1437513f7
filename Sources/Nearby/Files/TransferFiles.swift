import Glibc
import Link
import Posix
import TLS

/// The files of transfers, as the worker has them open.
struct TransferFiles {
    private static let chunk = 1 << 18

    private final class Entry {
        let file: GivenFile
        let hash: FileHash
        /// Of the part in the inbox; nil for a file that is sent.
        let part: String?

        init(_ file: GivenFile, _ hash: FileHash, part: String?) {
            (self.file, self.hash, self.part) = (file, hash, part)
        }
    }

    private let inbox: String?
    private var entries: [Int: Entry] = [:]

    init(inbox: String?) { self.inbox = inbox }

    /// - Returns: nil if the job has no result.
    mutating func perform(_ job: FileJob) -> FileResult? {
        switch job {
        case .send(let key, let file):
            entries[key] = FileHash().map { Entry(file, $0, part: nil) }
            return nil
        case .skip(let key, let end):
            if let entry = entries[key], !hash(entry, to: end) { return .read(key, nil) }
            return nil
        case .read(let key, let offset, let count):
            guard let entry = entries[key],
                let bytes = try? readBytes(of: entry.file.descriptor.raw, count, at: offset)
            else { return .read(key, nil) }
            entry.hash.update(bytes)
            return .read(key, bytes)
        case .hash(let key): return entries[key].map { .hash(key, $0.hash.finish()) }
        case .receive(let key, let part, let size): return result(key) { try open(key, part, size) }
        case .write(let key, let offset, let bytes):
            return result(key) {
                guard let entry = entries[key] else { throw SystemError("pwrite", code: EBADF) }
                try entry.file.descriptor.write(bytes, [], at: offset)
                entry.hash.update(bytes)
                return .written(key, bytes.count)
            }
        case .complete(let key, let hash, let name): return result(key) { try complete(key, hash, name) }
        case .close(let key, let keepsPart):
            if let part = entries.removeValue(forKey: key)?.part, !keepsPart { try? folder().remove(part) }
            return nil
        }
    }

    private func result(_ key: Int, _ body: () throws -> FileResult) -> FileResult {
        do { return try body() } catch {
            return .failed(key, reason: (error as? SystemError)?.reason ?? "\(error)")
        }
    }

    /// Whether the file is as long.
    private func hash(_ entry: Entry, to end: UInt64) -> Bool {
        var offset: UInt64 = 0
        while offset < end {
            let count = Int(min(UInt64(Self.chunk), end - offset))
            guard let bytes = try? readBytes(of: entry.file.descriptor.raw, count, at: offset), bytes.count == count
            else { return false }
            entry.hash.update(bytes)
            offset += UInt64(count)
        }
        return true
    }

    private func folder() throws -> FileDescriptor {
        guard let inbox else { throw SystemError("open", code: ENOENT) }
        return try FileDescriptor.open(inbox, O_RDONLY | O_DIRECTORY)
    }

    private mutating func open(_ key: Int, _ part: String, _ size: UInt64) throws -> FileResult {
        let folder = try folder()
        let file = GivenFile(try folder.open(part, O_RDWR | O_CREAT | O_NONBLOCK))
        // Another transfer may have it.
        guard let facts = file.facts, try file.descriptor.tryLock(.exclusive) else {
            throw SystemError("open", code: EBUSY)
        }
        guard let hash = FileHash() else { throw SystemError("open", code: ENOMEM) }
        let there = min(facts.size, size)
        if facts.size > size { try file.descriptor.truncate(to: size) }
        guard try folder.freeSpace() >= size - there else {
            if there == 0 { try? folder.remove(part) }
            throw SystemError("write", code: ENOSPC)
        }
        let entry = Entry(file, hash, part: part)
        entries[key] = entry
        return self.hash(entry, to: there) ? .opened(key, offset: there) : .failed(key, reason: "it changes")
    }

    /// The file is on the disk before its name is.
    private mutating func complete(_ key: Int, _ hash: [UInt8], _ name: FileName) throws -> FileResult {
        guard let entry = entries[key], let part = entry.part, let inbox else { throw SystemError("open", code: EBADF) }
        guard entry.hash.finish() == hash else { return .completed(key, path: nil) }
        try entry.file.descriptor.synchronize()
        let folder = try folder()
        for number in 1... {
            let free = name.numbered(number)
            do throws(SystemError) {
                try folder.rename(part, to: free)
                try folder.synchronize()
                entries[key] = nil
                return .completed(key, path: "\(inbox)/\(free)")
            } catch {
                guard error.code == EEXIST, number < 10_000 else { throw error }
            }
        }
        return .completed(key, path: nil)
    }
}
