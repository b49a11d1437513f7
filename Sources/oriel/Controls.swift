extension Unicode.Scalar {
    /// Whether a terminal does something about it instead of showing it: control characters (C0, DEL, C1), separators of
    /// lines, and what turns the direction of writing (UAX #9 §2).
    fileprivate var isControl: Bool {
        switch properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator: true
        default: properties.isBidiControl
        }
    }
}

extension String {
    /// The same text with names in the place of such characters: `\u{1B}`.
    ///
    /// - Parameter kept: one of them that stays.
    func spellingOutControls(except kept: Unicode.Scalar? = nil) -> String {
        replacingControls { $0 == kept ? String($0) : "\\u{\(String($0.value, radix: 16, uppercase: true))}" }
    }

    /// JSON with such characters as the escapes of JSON (RFC 8259 §7): the same value. They stand in its strings alone.
    func escapingControlsOfJSON() -> String {
        // None lies beyond the first 65536.
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
