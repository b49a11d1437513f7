import ArgumentParser

/// Throws a sentence for a number that an option does not take.
func require<N: Comparable>(_ option: String, _ number: N, in range: ClosedRange<N>) throws(ValidationError) {
    if range ~= number { return }
    throw ValidationError("\(option) \(number) is out of range: give \(range.lowerBound) to \(range.upperBound).")
}
