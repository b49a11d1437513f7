extension [UInt8] {
    /// Damages bytes as a bad line or a hostile peer might, in up to four places.
    ///
    /// - Parameter tokens: what may be put in: whole messages, or words of their grammar.
    package mutating func damage(_ tokens: [[UInt8]], using random: inout some RandomNumberGenerator) {
        for _ in 0..<Int.random(in: 1...4, using: &random) {
            let place = Int.random(in: 0...count, using: &random)
            let range = place..<Swift.min(count, place + Int.random(in: 0...24, using: &random))
            switch Int.random(in: 0..<8, using: &random) {
            case 0 where place < count: self[place] = .random(in: 0 ... .max, using: &random)
            case 1 where place < count: self[place] ^= 1 << UInt8.random(in: 0..<8, using: &random)
            case 2: removeSubrange(range)
            case 3: insert(contentsOf: self[range], at: place)
            case 4: removeSubrange(place...)
            case 5:
                let bytes = (0..<range.count).map { _ in UInt8.random(in: 0 ... .max, using: &random) }
                replaceSubrange(range, with: bytes)
            default:
                guard let token = tokens.randomElement(using: &random) else { continue }
                replaceSubrange(Bool.random(using: &random) ? range : place..<place, with: token)
            }
        }
    }
}
