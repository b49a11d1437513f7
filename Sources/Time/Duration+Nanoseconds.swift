extension Duration {
    /// Whole nanoseconds, rounded towards zero, and limited to what 64 bits hold: 292 years.
    public var nanoseconds: Int64 {
        let (seconds, attoseconds) = components
        let (product, overflows) = seconds.multipliedReportingOverflow(by: 1_000_000_000)
        let (sum, passes) = product.addingReportingOverflow(attoseconds / 1_000_000_000)
        return overflows || passes ? (seconds < 0 ? .min : .max) : sum
    }

    /// Seconds with a fraction, for figures that people read.
    package var seconds: Double { self / .seconds(1) }

    /// Milliseconds with a fraction, for figures that people read.
    package var milliseconds: Double { self / .milliseconds(1) }
}
