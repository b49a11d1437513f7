import JSON

/// The name of a file that another device sends: one that can be made in a folder, whatever the other side says.
package struct FileName: Equatable, Sendable, CustomStringConvertible {
    /// Of a name, in UTF-8 (Linux, NAME_MAX), less what `numbered` and `.part` add.
    private static let longest = 240

    package let description: String

    /// - Parameter text: perhaps a path, of this system or another one.
    package init(_ text: String) {
        let last = text.unicodeScalars.split(whereSeparator: { $0 == "/" || $0 == "\\" }).last.map { Array($0) } ?? []
        let visible = last.filter { !$0.isControl && $0 != "\u{0}" }
        // No hidden files, and no "..".
        var name = String(String.UnicodeScalarView(visible.drop { $0 == "." || $0 == " " }))
        while let end = name.last, end == " " || end == "." { name.removeLast() }
        let (stem, ending) = Self.parts(name)
        // Scalars, as a character may be as long as it likes.
        var kept = stem.unicodeScalars
        while kept.reduce(0, { $0 + UTF8.width($1) }) + ending.utf8.count > Self.longest, !kept.isEmpty {
            kept.removeLast()
        }
        name = String(kept)
        description = name.isEmpty || name.hasPrefix(".") ? "file\(ending)" : name + ending
    }

    /// `name (2).ending`, for a folder that has one of that name.
    package func numbered(_ number: Int) -> String {
        let (stem, ending) = Self.parts(description)
        return number < 2 ? description : "\(stem) (\(number))\(ending)"
    }

    /// The ending begins with the last dot, unless that is the first character.
    private static func parts(_ name: String) -> (stem: String, ending: String) {
        guard let dot = name.lastIndex(of: "."), dot != name.startIndex, name[dot...].utf8.count <= 16 else {
            return (name, "")
        }
        return (String(name[..<dot]), String(name[dot...]))
    }
}
