/// How long to wait before the next request, at a server's wish (RFC 9110 §10.2.3).
package enum RetryAfter {
    /// - Parameters:
    ///   - field: the value of `Retry-After`: seconds, or a date.
    ///   - answeredAt: the time of the response, in seconds since 1970.
    /// - Returns: zero or more; nil if the field is malformed.
    package static func delay(_ field: String, answeredAt: Int) -> Duration? {
        let text = field.filter { !$0.isWhitespace }
        if text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }), !text.isEmpty { return .seconds(Int(UInt32(text) ?? .max)) }
        return HTTPDate.seconds(parsing: field).map { .seconds(max($0 - answeredAt, 0)) }
    }
}

/// Dates in fields of HTTP (RFC 9110 §5.6.7).
package enum HTTPDate {
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Seconds since 1970 of a date in any of the three forms; nil for anything else. The day of the week is not
    /// checked.
    package static func seconds(parsing text: String) -> Int? {
        guard text.utf8.count <= 64 else { return nil }
        let words = text.split { " \t,-".contains($0) }
        switch words.count {
        // Sun, 06 Nov 1994 08:49:37 GMT; Sunday, 06-Nov-94 08:49:37 GMT
        case 6 where words[5] == "GMT": return seconds(day: words[1], month: words[2], year: words[3], time: words[4])
        // Sun Nov  6 08:49:37 1994
        case 5: return seconds(day: words[2], month: words[1], year: words[4], time: words[3])
        default: return nil
        }
    }

    private static func seconds(day: Substring, month: Substring, year: Substring, time: Substring) -> Int? {
        let clock = time.split(separator: ":", omittingEmptySubsequences: false).map { number($0) }
        guard let day = number(day), 1...31 ~= day, let month = months.firstIndex(where: { $0 == month }),
            var years = number(year), clock.count == 3, let hours = clock[0], hours < 24, let minutes = clock[1],
            minutes < 60,
            let seconds = clock[2], seconds <= 60
        else { return nil }
        // A year of two digits is in the past.
        if year.utf8.count == 2 { years += years < 70 ? 2000 : 1900 }
        return days(years, month, day) * 86_400 + hours * 3600 + minutes * 60 + seconds
    }

    /// A number of up to four digits.
    private static func number(_ text: Substring) -> Int? {
        guard 1...4 ~= text.utf8.count, text.utf8.allSatisfy({ 0x30...0x39 ~= $0 }) else { return nil }
        return Int(text)
    }

    /// Days since 1970 in the Gregorian calendar.
    ///
    /// - Parameter month: counted from 0.
    private static func days(_ year: Int, _ month: Int, _ day: Int) -> Int {
        // Years begin in March, so that the leap day is their last one.
        let year = month < 2 ? year - 1 : year
        let dayOfYear = ((month + 10) % 12 * 153 + 2) / 5 + day - 1
        return year * 365 + year / 4 - year / 100 + year / 400 + dayOfYear - 719_468
    }
}
