import Containers
import Glibc
package import Posix
import Time

/// The folder of recordings. It is the only place where a recorder writes, and what others have there stays.
package final class RecordingFolder {
    /// What became of a file that an earlier recorder had not ended.
    package enum Mended: Equatable, CustomStringConvertible {
        case repaired(String)
        /// There was no picture in it.
        case removed(String)
        case failed(String, SystemError)

        package var description: String {
            switch self {
            case .repaired(let name): "\(name) had not been ended: it is whole now"
            case .removed(let name): "\(name) had no picture: it is removed"
            case .failed(let name, let error):
                "\(name) cannot be repaired (\(error.reason)): the next start tries again"
            }
        }
    }

    /// Seconds by which a file's date may be later than now, as clocks are corrected all the time.
    private static let mostAhead = 60.0

    package let path: String
    let directory: FileDescriptor

    package init(_ path: String) throws(SystemError) {
        directory = FileDescriptor(
            taking: try check("open") { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        )
        self.path = path
    }

    // MARK: - Names

    /// Begins a file.
    ///
    /// - Parameter base: its name without the ending. A number is added to one that is taken.
    func create(_ base: String) throws(SystemError) -> PartFile {
        for number in 1... {
            let name = (number == 1 ? base : "\(base)-\(number)") + FileName.ending
            if exists(name) { continue }
            do throws(SystemError) {
                let file = try directory.open(name + FileName.part, O_RDWR | O_CREAT | O_EXCL)
                _ = try file.tryLock(.exclusive)
                return PartFile(name, file, in: self)
            } catch {
                if error.code != EEXIST { throw error }
            }
        }
        throw SystemError("open", code: EEXIST)
    }

    private func exists(_ name: String) -> Bool {
        var info = stat()
        return fstatat(directory.raw, name, &info, AT_SYMLINK_NOFOLLOW) == 0
    }

    /// Gives a whole file its name.
    ///
    /// - Returns: the name, with a number if another program has made a file of that name meanwhile.
    func place(_ name: String) throws(SystemError) -> String {
        for number in 1... {
            let base = name.dropLast(FileName.ending.count)
            let free = number == 1 ? name : "\(base)-\(number)\(FileName.ending)"
            do throws(SystemError) {
                try directory.rename(name + FileName.part, to: free)
                try directory.synchronize()
                return free
            } catch {
                if error.code != EEXIST { throw error }
            }
        }
        return name
    }

    // MARK: - Retention

    /// Removes recordings of a broadcast that were named by the date. A file of another program stays, whatever its name.
    ///
    /// - Parameters:
    ///   - writing: bytes of the one that is being written.
    ///   - now: in seconds since 1970.
    ///   - most: the age of which any file can be certain; nil where their dates are right.
    /// - Returns: their names.
    func remove(
        by retention: Retention,
        of broadcast: String,
        writing: UInt64,
        now: Double,
        oldest most: Duration? = nil
    ) throws(SystemError) -> [String] {
        let names = directory.entries().filter { FileName.isDated($0, of: broadcast) }
        let files = names.compactMap { name -> Retention.File? in
            var info = stat()
            guard fstatat(directory.raw, name, &info, AT_SYMLINK_NOFOLLOW) == 0, info.st_mode & S_IFMT == S_IFREG else {
                return nil
            }
            let past = now - Double(info.st_mtim.tv_sec)
            let age = Duration.seconds(max(0, past))
            return Retention.File(
                name: name,
                bytes: UInt64(info.st_blocks) * 512,
                age: most.map { min($0, age) } ?? age,
                isAhead: past < -Self.mostAhead
            )
        }
        var removed: [String] = []
        for name in retention.removals(of: files, writing: writing, free: try directory.freeSpace()) {
            guard let head = try? directory.open(name, O_RDONLY | O_NONBLOCK).readBytes(WebMHead.longest),
                WebMHead(head) != nil
            else {
                continue
            }
            try directory.remove(name)
            removed.append(name)
        }
        return removed
    }

    // MARK: - Repair

    /// Makes the files whole that earlier recorders did not. Files that one is writing, and those of other programs, stay as they are.
    package func mend() -> [Mended] {
        let parts = directory.entries().filter { $0.hasSuffix(FileName.ending + FileName.part) }.sorted()
        return parts.compactMap { part in
            let name = String(part.dropLast(FileName.part.count))
            do throws(SystemError) { return try mend(name) } catch { return .failed(name, error) }
        }
    }

    private func mend(_ name: String) throws(SystemError) -> Mended? {
        let file = try directory.open(name + FileName.part, O_RDWR | O_NONBLOCK)
        guard try file.status().st_mode & S_IFMT == S_IFREG, try file.tryLock(.exclusive) else { return nil }
        return try mend(file, name)
    }

    /// Makes a file whole that was torn off; nil if it is none of a recorder's.
    func mend(_ file: borrowing FileDescriptor, _ name: String) throws(SystemError) -> Mended? {
        switch try file.repair() {
        case .foreign: return nil
        case .empty:
            try directory.remove(name + FileName.part)
            return .removed(name)
        case .torn(let end): try file.apply(end)
        case .whole: break
        }
        return .repaired(try place(name))
    }
}

extension FileDescriptor {
    /// Finds out how a recording becomes whole.
    fileprivate func repair() throws(SystemError) -> WebMRepair.Outcome {
        let length = UInt64(try status().st_size)
        // A borrowed descriptor is no part of a closure.
        let raw = raw
        do {
            return try WebMRepair.outcome(length: length) { offset, count in
                try Posix.readBytes(of: raw, count, at: offset)
            }
        } catch {
            throw error as? SystemError ?? SystemError("read", code: EIO)
        }
    }

    /// Makes a recording whole.
    func apply(_ end: WebMEnd) throws(SystemError) {
        try write(end.bytes, [], at: end.offset)
        try truncate(to: end.offset + UInt64(end.bytes.count))
        for patch in end.patches { try write(patch.bytes, [], at: patch.offset) }
        try synchronize()
    }
}
