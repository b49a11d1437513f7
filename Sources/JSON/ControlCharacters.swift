extension Unicode.Scalar {
    /// Whether a terminal obeys the character instead of showing it: control characters (C0, DEL, C1), separators of
    /// lines, and characters that change the direction of writing (UAX #9 §2).
    package var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }
}

extension String {
    /// The text with each control character spelt out, such as `\u{1B}`.
    ///
    /// - Parameter kept: a control character that stays.
    package func spellingOutControls(except kept: Unicode.Scalar? = nil) -> String {
        replacingControls { $0 == kept ? String($0) : "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// JSON of the same value, with control characters as escapes (RFC 8259 §7). They only occur in strings.
    package func escapingControlsOfJSON() -> String {
        // No control character is beyond the first 65536.
        replacingControls { "\\u" + String(0x1_0000 + $0.value, radix: 16).dropFirst() }
    }

    private func replacingControls(_ name: (Unicode.Scalar) -> String) -> String {
        guard unicodeScalars.contains(where: \.isControl) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            if scalar.isControl { text += name(scalar) } else { text.unicodeScalars.append(scalar) }
        }
        return text
    }
}
