/// Where the frames of a broadcast lie. Readers find out by themselves.
public enum FrameStorage: String, Sendable, CaseIterable {
    /// In a file of the broadcast's folder: readers map it and ask nobody.
    case file
    /// In sealed memory, memfd_create(2), that readers ask the writer for at a socket of that name: nobody can shrink it, nobody
    /// but the writer can write it, it takes no room in a file system, and it is gone with its last user. Needs Linux 5.1.
    case memfd
}
