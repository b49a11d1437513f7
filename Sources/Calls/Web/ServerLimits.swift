package import HTTP

extension HTTPServer.Limits {
    /// Limits for the server of a web call: the connections that a process can spare beside the media, 64 to 4096, and memory for unread
    /// responses. A page keeps one connection and opens another now and then, and all may come through one proxy. All viewers may load the
    /// page at once, and a slow one has a piece of 64 KB of it unread.
    ///
    /// - Parameters:
    ///   - files: descriptors that the process may have open.
    ///   - viewers: the most that are let in.
    package init(files: Int, viewers: Int) {
        self.init(
            connections: min(max(files - 128 - 8 * viewers, 64), 4096),
            connectionsOfOneNetwork: max(64, 2 * viewers),
            unread: max(4 << 20, viewers * (64 << 10))
        )
    }
}
