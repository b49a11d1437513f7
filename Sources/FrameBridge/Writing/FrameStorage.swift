/// Where the frames of a broadcast are stored. Readers find out by themselves.
public enum FrameStorage: String, Sendable, CaseIterable {
    /// In a file of the broadcast's folder: readers map it and ask nobody.
    case file
    /// In sealed memory, memfd_create(2). Readers ask the writer for it at a socket of that name. Nobody can shrink it,
    /// and only the writer can write it. It takes no room in a file system, and is gone with its last user. Needs Linux
    /// 5.1.
    case memfd
}
