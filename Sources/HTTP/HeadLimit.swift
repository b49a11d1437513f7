import NIOHTTP1

/// How long the line of a request and its header fields may be together.
enum HeadLimit {
    private static let bytes = 16 * 1024

    /// What the parser takes of a head before all of it can be judged. It does not count what separates the fields.
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
