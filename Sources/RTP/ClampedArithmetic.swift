/// Instants and durations in nanoseconds: a sum or difference out of range stops at the end of the range.
extension UInt64 {
    package func adding(clamped other: UInt64) -> UInt64 {
        let (sum, overflow) = addingReportingOverflow(other)
        return overflow ? .max : sum
    }

    package func subtracting(clamped other: UInt64) -> UInt64 { self > other ? self - other : 0 }
}
