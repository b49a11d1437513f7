import Glibc
import Posix
import Synchronization

/// The file of one ring in one generation, as its writer has it. It is made under a temporary name, and renamed when
/// its header is whole. So a reader finds either nothing or valid data.
///
/// A ring owns the data in its file, except for the words of `RingHeader`, and the order of its stores.
final class RingFile {
    /// The most readers that the writer wakes by itself. Each takes it three microseconds or more, so a thread wakes
    /// the others.
    private static let wokenAtOnce: Int32 = 4

    let mapping: Mapping
    /// The name in the broadcast's folder.
    let name: String
    /// Hands out sealed memory; nil for a file.
    private let service: DescriptorService?
    /// Wakes many readers; nil before there are many.
    private var crowd: ReaderCrowd?

    /// The name of a ring's file: `RING.` and the generation in 16 hexadecimal digits.
    static func name(of ring: String, _ generation: UInt64) -> String {
        "\(ring)." + String(repeating: "0", count: generation.leadingZeroBitCount / 4)
            + (generation == 0 ? "" : String(generation, radix: 16))
    }

    /// Whether a file of the folder is one of a ring's, of any generation.
    static func isFile(_ name: String, of ring: String) -> Bool { name.hasPrefix("\(ring).") }

    /// The generation of a file of the folder, from its name; nil if it is not a file of the ring.
    static func generation(of name: String, in ring: String) -> UInt64? {
        guard isFile(name, of: ring), let number = UInt64(name.dropFirst(ring.utf8.count + 1), radix: 16) else {
            return nil
        }
        return Self.name(of: ring, number) == name ? number : nil
    }

    /// Makes the file, with all its blocks, and adds it to a generation.
    ///
    /// - Parameters:
    ///   - ring: the name of the ring, one of those that the folder knows.
    ///   - bytes: the size of the file, a header page at least.
    ///   - prepare: stores the ring's first data in its header.
    /// - Throws: `noSpace`, or `system`.
    init(
        _ ring: String,
        in generation: inout NewGeneration,
        bytes: Int,
        storage: FrameStorage,
        _ prepare: (Mapping) -> Void
    ) throws(BridgeError) {
        let directory = generation.directory
        let name = Self.name(of: ring, generation.number)
        let temporary = "." + name
        do throws(SystemError) {
            (mapping, service) = try Self.reserve(temporary, of: ring, bytes, storage, in: directory)
        } catch {
            directory.remove(temporary)
            throw .writing(name, bytes, in: directory, error)
        }
        self.name = name
        _ = mapping.guarded { prepare(mapping) }
        header.heartbeat()
        header.setState(generation.state, since: generation.stateSince)
        if let horizon = generation.horizon { header.setHorizon(horizon) }
        if renameat(directory.descriptor.raw, temporary, directory.descriptor.raw, name) != 0 {
            let error = SystemError("rename")
            directory.remove(temporary)
            throw .system(path: directory.path(of: name), error)
        }
        generation.files.append(self)
    }

    /// Makes a file with all its blocks. So a full file system is an error now and not a SIGBUS later.
    private static func reserve(
        _ name: String,
        of ring: String,
        _ bytes: Int,
        _ storage: FrameStorage,
        in directory: BridgeDirectory
    ) throws(SystemError) -> (Mapping, DescriptorService?) {
        let file =
            switch storage {
            case .file: try directory.descriptor.open(name, O_RDWR | O_CREAT | O_EXCL)
            case .memfd: try FileDescriptor.memory("oriel-\(ring)")
            }
        try file.allocate(bytes)
        let mapping = try Mapping(file, size: bytes, writable: true)
        guard storage == .memfd else { return (mapping, nil) }
        try file.seal()
        return (mapping, try DescriptorService(giving: file, at: name, in: directory.descriptor))
    }

    var header: RingHeader { RingHeader(mapping) }

    /// Whether new readers would find this file, and whole.
    func isInPlace(in directory: BridgeDirectory) -> Bool {
        guard let entry = directory.attributes(of: name) else { return false }
        let kind = entry.st_mode & S_IFMT
        return service == nil ? kind == S_IFREG && entry.st_size >= mapping.size : kind == S_IFSOCK
    }

    /// Performs the steps of a publication. Call it inside `mapping.guarded`.
    ///
    /// - Parameters:
    ///   - header: has the offsets of the words.
    ///   - draw: writes the data of the slot, without its sequence.
    func perform(_ publication: Publication, _ header: HeaderMetadata, draw: (_ slot: Int) -> Void) {
        var publication = publication
        while let step = publication.next() {
            switch step {
            case .store(let value, let word): mapping.store64(value, header.offset(of: word))
            case .fence: atomicMemoryFence(ordering: .releasing)
            case .draw(let slot): draw(slot)
            case .release(let value, let word): mapping.storeReleasing64(value, header.offset(of: word))
            case .wake: advanceAndWakeReaders()
            }
        }
    }

    /// Advances the wake word by a releasing addition, and wakes the readers; many readers are woken soon after. Call
    /// it inside `mapping.guarded`.
    func advanceAndWakeReaders() {
        let woken = mapping.advanceAndWake(Layout.Header.wake, most: Self.wokenAtOnce)
        if woken < Self.wokenAtOnce { return }
        crowd = crowd ?? (try? ReaderCrowd(of: mapping))
        if let crowd { crowd.wake() } else { _ = mapping.wake(Layout.Header.wake) }
    }
}
