import WebRTC

/// Candidates and credentials that come after the offer: what is printed must read back the same.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    let text = String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
    if let candidate = Candidate(parsing: text) { precondition(Candidate(parsing: "\(candidate)") == candidate) }
    if let fingerprint = Fingerprint(parsing: text) {
        precondition(Fingerprint(parsing: "\(fingerprint)") == fingerprint)
    }
    guard let fragment = try? TrickleFragment(parsing: text, mids: ["0"]) else { return 0 }
    precondition(try! TrickleFragment(parsing: fragment.description(of: ("video", "0")), mids: ["0"]) == fragment)
    return 0
}
