import Access
import HTTP
import JSON
import NIOHTTP1
import Posix

/// The time of a session, which its viewer may extend.
extension WHEPEndpoint {
    private static let field = "oriel-lease"
    private static let range = "\(Lease.lengths.lowerBound) to \(Lease.lengths.upperBound)"

    /// The seconds that a viewer asks for.
    enum LeaseWish {
        case none
        case seconds(Int)
        /// Not a number of seconds within `Lease.lengths`.
        case malformed

        init(_ request: HTTPRequest) {
            guard let text = request.headers.first(name: field) else {
                self = .none
                return
            }
            let isNumber = text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
            self = isNumber ? Int(text).flatMap { Lease.lengths ~= $0 ? .seconds($0) : nil } ?? .malformed : .malformed
        }
    }

    static var malformedWish: HTTPResponse { .sentence(.badRequest, "a lease has \(range) seconds") }

    /// - Parameter session: its address, as in `Location`.
    static func add(_ lease: Int?, of session: String, to headers: inout HTTPHeaders) {
        guard let lease else { return }
        headers.add(name: "Oriel-Lease", value: "\(lease)")
        headers.add(name: "Link", value: "<\(session)\(Deed.lease.rawValue)>; rel=\"urn:oriel:lease\"")
    }

    /// Tells how long a session lasts, or extends it: `{"seconds": 300}`.
    func lease(_ request: HTTPRequest, _ session: String, _ completion: @escaping WebService.Completion) {
        var seconds: Int?
        if request.method == .PUT {
            guard let wish = JSONText(request.body)?.members.flatMap(Self.seconds) else {
                let sentence = "an extension is {\"seconds\": \(Self.range)}"
                return completion(.sentence(.unprocessableEntity, sentence, ["Oriel-Reason": "field"]))
            }
            seconds = wish
        }
        switch call.lease(of: session, extendedBy: seconds) {
        case .lasts(let seconds): completion(Self.response(seconds))
        case .tooOften(let wait):
            completion(.sentence(.tooManyRequests, "this view is extended too often", ["Retry-After": "\(wait)"]))
        case .none:
            completion(.sentence(.conflict, "this view has no end", ["Oriel-Reason": "no_lease"]))
        case .over: completion(Self.response(to: .expired))
        case .unknownViewer: completion(Self.unknown)
        }
    }

    private static func seconds(_ members: [(name: String, value: JSONText)]) -> Int? {
        guard members.count == 1, members[0].name == "seconds", let seconds = members[0].value.integer else {
            return nil
        }
        return Lease.lengths ~= seconds ? seconds : nil
    }

    private static func response(_ seconds: Double) -> HTTPResponse {
        struct Document: Encodable {
            let seconds: Int
            let expiresAt: String
        }
        let end = MonotonicClock.wallClock() + UInt64(seconds * 1e9)
        let document = Document(
            seconds: Int(seconds.rounded()),
            expiresAt: internetTime(nanosecondsSince1970: end)
        )
        // A number and a text can always be encoded.
        let body = Array("\(try! document.jsonLine())\n".utf8)
        return HTTPResponse(.ok, ["Content-Type": "application/json"], body: body)
    }
}
