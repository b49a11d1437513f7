import HTTP
import NIOHTTP1

extension HTTPResponse {
    /// Lets pages of an origin, or all (`*`), see the response. Tells browsers that ask first the allowed methods and headers of requests
    /// (https://fetch.spec.whatwg.org/#http-cors-protocol).
    mutating func open(to origin: String, isPreflight: Bool) {
        headers.add(name: "Access-Control-Allow-Origin", value: origin)
        headers.add(
            name: "Access-Control-Expose-Headers",
            value: "Accept-Patch, Accept-Post, ETag, Link, Location, Oriel-Lease, Oriel-Reason, Retry-After, "
                + "WWW-Authenticate"
        )
        guard isPreflight else { return }
        headers.add(name: "Access-Control-Allow-Methods", value: "GET, HEAD, POST, PUT, PATCH, DELETE, OPTIONS")
        headers.add(
            name: "Access-Control-Allow-Headers",
            value: "Accept, Authorization, Content-Type, If-Match, Oriel-Lease"
        )
        headers.add(name: "Access-Control-Max-Age", value: "86400")
    }
}
