import Time

/// With three digits after the point.
package func milliseconds(_ duration: Duration) -> Double { (duration / .microseconds(1)).rounded() / 1000 }

/// As a whole number, for people.
package func rounded(_ value: Double) -> String { value.magnitude < 1e15 ? "\(Int(value.rounded()))" : "?" }
