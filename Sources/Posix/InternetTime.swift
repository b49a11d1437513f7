import Glibc

/// A time of the wall clock by RFC 3339, in UTC and milliseconds: `2026-11-25T20:16:41.123Z`.
package func internetTime(nanosecondsSince1970 time: UInt64) -> String {
    var (seconds, date) = (time_t(time / 1_000_000_000), tm())
    gmtime_r(&seconds, &date)
    func digits(_ number: Int, _ count: Int) -> String {
        let text = String(number)
        return String(repeating: "0", count: max(0, count - text.utf8.count)) + text
    }
    let day = [Int(date.tm_year) + 1900, Int(date.tm_mon) + 1, Int(date.tm_mday)].map { digits($0, 2) }
    let clock = [date.tm_hour, date.tm_min, date.tm_sec].map { digits(Int($0), 2) }
    let milliseconds = digits(Int(time / 1_000_000 % 1000), 3)
    return "\(day.joined(separator: "-"))T\(clock.joined(separator: ":")).\(milliseconds)Z"
}
