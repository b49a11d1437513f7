/// What only a programmer reads in a text for people: values as Swift prints them, such as `failed(reason: "x")`, and names of its
/// types and cases, such as `oriel.Failure` and `failedToLoadCertificate`.
package func swiftWords(in text: String) -> [String] {
    let patterns = [
        #/\w+\(\w*:?/#, #/\b[a-z]+(?:[A-Z][a-z]+)+\b/#, #/\b\w+Error\b/#,
        #/\b(?:oriel|NIO\w*|Calls|FrameBridge|HTTP|Peers|Posix|Sender|Sound|Swift|WebRTC|X11Capture)\.[A-Z]\w*/#,
    ]
    // A random token may look like anything.
    let text = text.replacing(/--token \S+/, with: "--token")
    return patterns.flatMap { text.matches(of: $0).map { String($0.output) } }
}
