import NIOHTTP1

/// The longest request line and header fields together.
enum HeadLimit {
    private static let bytes = 16 * 1024

    /// The parser's limit before the whole head can be judged. The parser does not count separators of fields.
    static let ofParser: NIOHTTPDecoderLimitConfiguration = {
        var limits = NIOHTTPDecoderLimitConfiguration()
        limits.maxHeaderListSize = bytes + 4096
        limits.maxHeaderFieldSize = limits.maxHeaderListSize
        return limits
    }()

    static func allows(_ head: HTTPRequestHead) -> Bool {
        head.headers.reduce(head.uri.utf8.count) { $0 + $1.name.utf8.count + $1.value.utf8.count + 4 } <= bytes
    }
}
