/// The earliest of several instants, some of which may not be set.
package func earliest(_ first: UInt64?, _ second: UInt64?, _ third: UInt64?, _ fourth: UInt64? = nil) -> UInt64? {
    let earliest = min(min(first ?? .max, second ?? .max), min(third ?? .max, fourth ?? .max))
    return earliest == .max ? nil : earliest
}
