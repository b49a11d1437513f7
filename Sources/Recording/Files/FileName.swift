/// The names of recordings: of the broadcast and by the date of the first picture, such as `default-2026-11-29T11-25-03Z.webm`.
package enum FileName {
    package static let ending = ".webm"
    /// Of a file that is not whole yet, after its name.
    package static let part = ".part"

    /// Why there is a file, if not everything is recorded.
    enum Occasion: String, CaseIterable { case motion, command, replay }

    /// Without the ending.
    ///
    /// - Parameter date: seconds since 1970, UTC.
    static func base(_ broadcast: String, date: Double, of occasion: Occasion? = nil) -> String {
        "\(broadcast)-\(utc(date))" + (occasion.map { "-\($0.rawValue)" } ?? "")
    }

    /// Whether a name is one of a broadcast's recordings, by the date.
    static func isDated(_ name: String, of broadcast: String) -> Bool { parse(name, of: broadcast) != nil }

    /// The date and the occasion in the name of a broadcast's recording; nil for another name.
    static func parse(_ name: String, of broadcast: String) -> (date: Substring, occasion: Occasion?)? {
        guard name.hasPrefix("\(broadcast)-"), name.hasSuffix(ending) else { return nil }
        let rest = name.dropFirst(broadcast.count + 1).dropLast(ending.count)
        let date = rest.prefix(20)
        var number = rest.dropFirst(20)
        let occasion = Occasion.allCases.first { number.hasPrefix("-\($0.rawValue)") }
        if let occasion { number = number.dropFirst(occasion.rawValue.count + 1) }
        let pattern = "dddd-dd-ddTdd-dd-ddZ"
        func isDigit(_ character: Character) -> Bool { character.isASCII && character.isNumber }
        let isOurs =
            date.count == pattern.count
            && zip(date, pattern).allSatisfy { $1 == "d" ? isDigit($0) : $0 == $1 }
            && (number.isEmpty || number.first == "-" && number.count > 1 && number.dropFirst().allSatisfy(isDigit))
        return isOurs ? (date, occasion) : nil
    }

    /// The occasion in the name of any broadcast's recording, whole or not.
    static func occasion(in name: String) -> Occasion? {
        Occasion.allCases.first { name.contains("Z-\($0.rawValue).") || name.contains("Z-\($0.rawValue)-") }
    }

    /// By ISO 8601, with hyphens for the colons, which some file systems refuse.
    static func utc(_ date: Double) -> String {
        let seconds = Int(clamping: Int64(min(max(date.rounded(.down), -62_135_596_800), 253_402_300_799)))
        let (day, second) = (seconds.flooredQuotient(by: 86_400), seconds.flooredRemainder(by: 86_400))
        let (year, month, dayOfMonth) = civil(day)
        let date = "\(digits(year, 4))-\(digits(month, 2))-\(digits(dayOfMonth, 2))"
        return "\(date)T\(digits(second / 3600, 2))-\(digits(second / 60 % 60, 2))-\(digits(second % 60, 2))Z"
    }

    /// The Gregorian date of a number of days since 1970-01-01. Years begin in March, so that the leap day is the last of one.
    private static func civil(_ days: Int) -> (year: Int, month: Int, day: Int) {
        let daysIn400Years = 146_097
        let shifted = days + 719_468
        let era = shifted.flooredQuotient(by: daysIn400Years)
        let dayOfEra = shifted.flooredRemainder(by: daysIn400Years)
        let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
        let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
        let monthFromMarch = (5 * dayOfYear + 2) / 153
        let month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
        let year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
        return (year, month, dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    }

    private static func digits(_ value: Int, _ count: Int) -> String {
        let text = "\(value)"
        return String(repeating: "0", count: max(0, count - text.count)) + text
    }
}

extension Int {
    fileprivate func flooredQuotient(by divisor: Int) -> Int { (self - flooredRemainder(by: divisor)) / divisor }

    fileprivate func flooredRemainder(by divisor: Int) -> Int {
        let remainder = self % divisor
        return remainder < 0 ? remainder + divisor : remainder
    }
}
