extension SessionDescription {
    /// The mids of a description's bundle, if it is in one.
    func bundle(of section: Media) -> [String]? {
        guard let mid = section.attributes.first("mid") else { return nil }
        let groups = attributes.all("group").lazy.map { $0.split(separator: " ").map(String.init) }
        return groups.first { $0.first == "BUNDLE" && $0.dropFirst().contains(mid) }.map { Array($0.dropFirst()) }
    }

    /// The index of the description with a bundle's transport in an answer (RFC 9143 §7.3.1): the bundle's first one
    /// that has a stream, or that an answer can accept without one.
    ///
    /// - Parameter sections: the indices of the descriptions with a stream; never empty.
    func tagged(in bundle: [String], for sections: [Int]) -> Int {
        let indices = Dictionary(
            media.enumerated().compactMap { index, media in media.attributes.first("mid").map { ($0, index) } }
        ) { first, _ in first }
        return bundle.lazy.compactMap { indices[$0] }.first { sections.contains($0) || media[$0].canBeTagged }
            ?? sections[0]
    }
}

extension SessionDescription.Media {
    /// Whether an answer can accept the description without a stream.
    fileprivate var canBeTagged: Bool {
        port != 0 && isProtectedRTP && attributes.contains("rtcp-mux") && !attributes.contains("bundle-only")
    }
}
