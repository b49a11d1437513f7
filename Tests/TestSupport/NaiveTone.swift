/// What `Tone` makes of a luma: a line through black, and another through white that meets it at 96 codes above black.
///
/// - Parameter scale: of the tone, in 32nds.
package func naiveLuma(_ luma: Int, _ scale: Int) -> Int {
    let value = max(luma - 16, 0)
    let slope = 123.0 / 171 * Double(scale)
    let lift = Int((219 - slope * 219 / Double(scale)).rounded())
    let low = value * 2 * scale / 32
    let high = value * Int(slope.rounded()) / 32 + lift
    return min(low, high, 219) + 16
}

/// What it makes of a component of the chroma.
package func naiveChroma(_ chroma: Int, _ scale: Int) -> Int {
    let value = Double((chroma - 128) * scale) / 32
    return Int(min(max((value + 0.5).rounded(.down), -112), 112)) + 128
}
