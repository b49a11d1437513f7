import Sodium

/// The code that one device shows and the other takes: six digits that a person types, or more that a camera reads.
package struct PairingCode: Equatable, Sendable {
    private static let digits = 6
    /// Of a code that a camera reads; 130 bits in base32.
    private static let longDigits = 26
    private static let alphabet = Array("abcdefghijklmnopqrstuvwxyz234567")

    package let text: String

    /// Six digits, each code as likely as the others.
    package static func typed() -> PairingCode {
        let number = Randomness.number(below: 1_000_000)
        return PairingCode(text: String(String(number + 1_000_000).dropFirst()))
    }

    /// For a code to photograph.
    package static func photographed() -> PairingCode {
        PairingCode(text: String((0..<longDigits).map { _ in alphabet[Int(Randomness.number(below: 32))] }))
    }

    private init(text: String) { self.text = text }

    /// - Parameter typed: as a person writes it, perhaps with spaces and hyphens.
    /// - Returns: nil for no code.
    package init?(typed: String) {
        let text = typed.filter { $0 != " " && $0 != "-" }.lowercased()
        let isShort = text.utf8.count == Self.digits && text.utf8.allSatisfy { 0x30...0x39 ~= $0 }
        let isLong = text.utf8.count == Self.longDigits && text.allSatisfy(Self.alphabet.contains)
        guard isShort || isLong else { return nil }
        self.text = text
    }

    /// Whether a person can type it.
    package var isTyped: Bool { text.utf8.count == Self.digits }

    /// For a person: two groups of three digits.
    package var shown: String { isTyped ? "\(text.prefix(3)) \(text.suffix(3))" : text }
}
