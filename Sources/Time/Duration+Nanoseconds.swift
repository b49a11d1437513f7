extension Duration {
    /// Whole nanoseconds, rounded towards zero, and limited to the range of 64 bits: 292 years.
    public var nanoseconds: Int64 {
        // Up to 9 s a division of 64 bits is enough, and four times as fast.
        if let few = Int64(exactly: attoseconds) { return few / 1_000_000_000 }
        return Int64(clamping: attoseconds / 1_000_000_000)
    }

    /// Seconds with a fraction, to the nanosecond; limited as `nanoseconds` is.
    package var seconds: Double { Double(nanoseconds) / 1e9 }

    /// Milliseconds with a fraction, to the nanosecond; limited as `nanoseconds` is.
    package var milliseconds: Double { Double(nanoseconds) / 1e6 }
}
