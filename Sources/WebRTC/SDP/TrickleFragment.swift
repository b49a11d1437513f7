/// Candidates and credentials after the offer (RFC 8840 §9).
package struct TrickleFragment: Equatable, Sendable {
    /// The most candidates that are read; later ones are skipped.
    package static let mostCandidates = 64

    /// Nil if the fragment has none. It then belongs to the generation in use.
    package var credentials: ICECredentials?
    package var candidates: [Candidate]
    package var isLast: Bool

    package init(credentials: ICECredentials?, candidates: [Candidate], isLast: Bool) {
        self.credentials = credentials
        self.candidates = candidates
        self.isLast = isLast
    }

    /// - Parameter mids: the media descriptions with the same transport. Candidates of others are skipped.
    package init(parsing text: String, mids: [String]) throws(MalformedSDP) {
        self.init(credentials: nil, candidates: [], isLast: false)
        var section: String?
        var fragment: String?
        var password: String?
        for line in SDPLine.lines(of: text) {
            let content = try line.content()
            if content.kind == "m" { section = "" }
            guard content.kind == "a" else { continue }
            let attribute = SessionDescription.Attribute(parsing: content.value)
            switch (attribute.name, attribute.value) {
            case ("mid", let value?): section = value
            case ("ice-ufrag", let value?): fragment = fragment ?? value
            case ("ice-pwd", let value?): password = password ?? value
            case ("candidate", let value?)
            where candidates.count < Self.mostCandidates && section.map { $0.isEmpty || mids.contains($0) } ?? true:
                if let candidate = Candidate(parsing: value) { candidates.append(candidate) }
            case ("end-of-candidates", _): isLast = true
            default: break
            }
            if let fragment, let password {
                guard let valid = ICECredentials(fragment: fragment, password: password) else {
                    throw line.malformed("gives no valid ICE credentials")
                }
                credentials = valid
            }
        }
    }

    /// The text of a fragment for one media description, which has its bundle's transport. Each line ends with CR LF
    /// (RFC 8840 §4.4, RFC 9725 §4.3).
    package func description(of section: (kind: String, mid: String)) -> String {
        var lines = ["a=ice-options:trickle", "a=group:BUNDLE \(section.mid)"]
        lines.append("m=\(section.kind) 9 UDP/TLS/RTP/SAVPF 0")
        lines.append("a=mid:\(section.mid)")
        if let credentials {
            lines.append("a=ice-ufrag:\(credentials.fragment)")
            lines.append("a=ice-pwd:\(credentials.password)")
        }
        lines.append(contentsOf: candidates.map { "a=candidate:\($0)" })
        if isLast { lines.append("a=end-of-candidates") }
        return lines.map { $0 + "\r\n" }.joined()
    }
}
