extension SessionDescription {
    /// The identifiers of its media descriptions (RFC 5888 §4).
    package var mids: [String] { media.compactMap { $0.attributes.first("mid") } }

    /// The description for a restart of ICE (RFC 8839 §4.4.1.1.1): with other credentials and candidates, in the next
    /// version of its session (RFC 3264 §8).
    ///
    /// - Parameter candidates: all of them, in one bundle.
    package func restarted(with credentials: ICECredentials, _ candidates: [Candidate]) -> SessionDescription {
        var next = self
        var words = origin.split(separator: " ").map(String.init)
        if words.count > 2, let version = UInt64(words[2]) { words[2] = "\(version &+ 1)" }
        next.origin = words.joined(separator: " ")
        next.attributes = attributes.compactMap { $0.restarted(with: credentials) }
        for index in media.indices {
            next.media[index].attributes =
                media[index].attributes.compactMap { $0.restarted(with: credentials) }
                + candidates.map { Attribute("candidate", "\($0)") } + [Attribute("end-of-candidates")]
        }
        return next
    }
}

extension SessionDescription.Attribute {
    /// Nil for attributes of the former generation alone.
    fileprivate func restarted(with credentials: ICECredentials) -> Self? {
        switch name {
        case "ice-ufrag": Self(name, credentials.fragment)
        case "ice-pwd": Self(name, credentials.password)
        case "candidate", "end-of-candidates": nil
        default: self
        }
    }
}
