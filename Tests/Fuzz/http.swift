import Access
import Calls
import HTTP
import Posix
import Time

/// Fields of HTTP, one a line, each as if it were any of those that are parsed here: what is printed must read back the same, and what
/// a page, a client or a server wrote may become nothing that it must not.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    let fields = text.split(whereSeparator: \.isNewline).map(String.init)
    let links = LinkHeader.links(in: fields)
    precondition(links.count <= LinkHeader.mostLinks)
    let (servers, _) = NamedICEServer.servers(in: links)
    for server in servers {
        precondition(!server.host.isEmpty && server.port != 0)
        guard case .turn(_, let username, let password) = server.service else { continue }
        // They go to a library of C.
        precondition(!(username + password).utf8.contains(0))
    }
    let (proxies, proxy) = (["192.0.2.1", "10.0.0.0/8"].map { AddressRange(parsing: $0)! }, ClientAddress("192.0.2.1"))
    let client = proxies.client(of: proxy, forwardedFor: fields).description
    precondition(AddressRange(parsing: client) != nil)
    precondition(proxies.client(of: proxy, forwardedFor: fields + ["203.0.113.5"]).description == "203.0.113.5")
    var access = TokenGuard(token: "0123456789abcdefghij")
    let base = WebURL(parsing: "https://a/b/c?d")!
    for field in fields {
        if let delay = RetryAfter.delay(field, answeredAt: 0) { precondition(delay >= .zero) }
        if let origin = WebOrigin(parsing: field) { precondition(WebOrigin(parsing: "\(origin)") == origin) }
        if let url = base.resolving(field) {
            precondition(WebURL(parsing: "\(url)") == url)
            precondition(!url.target.utf8.contains { $0 <= 0x20 || $0 >= 0x7F })
            _ = url.summary
        }
        if let address = ListenAddress(parsing: field) { precondition(ListenAddress(parsing: address.spelling) != nil) }
        let name = MediaType.name(in: field)
        precondition(MediaType.name(in: name) == name)
        _ = MediaType.isAccepted("application/sdp", by: [field])
        if access.check(field, from: "192.0.2.9", now: .start) == .allowed {
            precondition(field.hasSuffix("0123456789abcdefghij"))
        }
        if let decoded = String(percentDecoding: field) {
            precondition(String(percentDecoding: decoded.percentEncoded) == decoded)
        }
    }
    return 0
}
