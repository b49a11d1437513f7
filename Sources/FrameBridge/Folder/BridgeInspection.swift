import Glibc
import Posix
public import Time

/// A look at a broadcast folder from outside. It takes no lock, changes nothing, and does not count as a reader.
public struct BridgeInspection: Sendable {
    /// One slot of the frames file.
    public struct Slot: Sendable {
        /// Odd while the slot is being written, and for ever if the writer was killed meanwhile.
        public let sequence: UInt64
        /// Nil for a slot that never held a frame, or whose metadata is invalid.
        public let info: FrameInfo?
    }

    /// The broadcast's folder.
    public let path: String
    /// The broadcast's own state, checked against its lock and its heartbeat.
    public private(set) var liveness: Liveness
    /// Whether any reader is attached.
    public let hasReaders: Bool
    /// The status file; nil if it is missing or invalid.
    public let status: BridgeStatus?
    /// The fault of the frames file; nil if there is none.
    public private(set) var problem: BridgeError?
    /// The fields below are nil, zero or empty if there is no readable frames file.
    public private(set) var fileBytes = 0
    /// Frames of this generation so far.
    public private(set) var published: UInt64 = 0
    /// The last heartbeat.
    public private(set) var heartbeatAt: Instant?
    /// The last change of state.
    public private(set) var stateSince: Instant?
    /// The not-before time: frames captured earlier must not be shown.
    public private(set) var horizon: Instant?
    /// The source, in words for people.
    public private(set) var source = ""
    /// The nominal rate.
    public private(set) var framesPerSecond = 0
    /// The slot that holds the latest frame.
    public private(set) var latestSlot: Int?
    /// All slots, in the order of the file.
    public private(set) var slots: [Slot] = []
    /// For each tile of the latest frame, row by row, how many frames ago it changed.
    public private(set) var tileAges: [UInt32] = []
    /// Tiles in a row.
    public private(set) var tileColumns = 0
    /// All generations with frames in the folder: one, except for an instant.
    public let generations: [String]

    /// The latest whole frame's information.
    public var latest: FrameInfo? { latestSlot.flatMap { slots.indices.contains($0) ? slots[$0].info : nil } }

    /// Looks at a folder.
    ///
    /// - Throws: the errors of a reader on the same folder.
    public init(_ directory: BridgeDirectory) throws(BridgeError) {
        path = directory.path
        let writing = try directory.hasWriter()
        hasReaders = try directory.hasReaders()
        generations = directory.fileNames().filter { RingFile.isFile($0, of: FrameRing.name) }.sorted()
        status = try directory.status()
        let said = status?.state ?? .starting
        liveness = writing ? .live(said) : try directory.hasEndedWell() ? .stopped : .dead
        guard let generation = status?.generation, generation != 0 else { return }
        do throws(BridgeError) {
            try lookInto(BridgeStatus.framesFile(generation), of: directory, said: said, isWriting: writing)
        } catch {
            problem = error
            if case .noAnswer = error, writing { liveness = .stalled(said) }
        }
    }

    private mutating func lookInto(
        _ name: String,
        of directory: BridgeDirectory,
        said: BroadcastState,
        isWriting: Bool
    ) throws(BridgeError) {
        guard let ring = try OpenedRing(.frames, at: name, in: directory) else { return }
        let header = ring.header
        let page = try ring.readBytes(Layout.page, at: 0)
        guard page.count == Layout.page else {
            throw .damaged(path: directory.path(of: name), problem: "too short for a header")
        }
        typealias H = Layout.Header
        typealias S = Layout.Slot
        func instant(_ offset: Int) -> Instant? { Instant(stored: page.span.bytes.get(offset, as: UInt64.self)) }
        heartbeatAt = instant(H.heartbeat)
        let state = BroadcastState(rawValue: page.span.bytes.get(H.state, as: UInt32.self)) ?? said
        if isWriting { liveness = Liveness(state: state, heartbeat: heartbeatAt) }
        fileBytes = header.fileBytes
        published = page.span.bytes.get(H.published, as: UInt64.self)
        stateSince = instant(H.stateSince)
        // A horizon after the heartbeat is damage.
        if let horizon = instant(H.horizon), let heartbeatAt, horizon <= heartbeatAt { self.horizon = horizon }
        framesPerSecond = Int(page.span.bytes.get(H.framesPerSecond, as: UInt32.self))
        let text = page[H.source..<H.source + H.sourceBytes].prefix { $0 != 0 }
        source = String(decoding: text, as: UTF8.self)
        let latest = page.span.bytes.get(H.latest, as: UInt64.self)
        if latest != 0, latest & 0xFF < Layout.slotCount { latestSlot = Int(latest & 0xFF) }
        for slot in 0..<Layout.slotCount {
            let metadata = try ring.readBytes(S.metadataBytes, at: header.slotOffset(slot))
            let isWhole = metadata.count == S.metadataBytes
            let checked = isWhole ? try? SlotMetadata(checking: metadata.span.bytes, slotBytes: header.slotStride) : nil
            // A file that was shrunk has fewer bytes.
            let isThere = metadata.count >= 8
            let sequence = isThere ? metadata.span.bytes.unsafeLoad(fromByteOffset: S.sequence, as: UInt64.self) : 0
            slots.append(Slot(sequence: sequence, info: checked?.info))
            guard slot == latestSlot, let checked else { continue }
            let place = header.slotOffset(slot) + checked.tilesOffset
            let map = try ring.readBytes(checked.tileColumns * checked.tileRows * 4, at: place)
            tileColumns = checked.tileColumns
            let number = TileMap.version(checked.info.number)
            tileAges = stride(from: 0, to: map.count / 4 * 4, by: 4).map { offset in
                number &- map.span.bytes.unsafeLoad(fromByteOffset: offset, as: UInt32.self)
            }
        }
    }
}
