import Glibc

/// A soft wallpaper; places are 0...255.
func wallpaper(_ x: Int, _ y: Int) -> UInt32 {
    let glow = max(0, 120 - ((x - 200) * (x - 200) + (y - 40) * (y - 40)) / 220)
    return rgb(28 + y / 8 + glow / 2, 52 + y / 4 + glow / 3, 92 + x / 6 + glow / 4)
}

/// A lake under mountains; places are 0...1.
func landscape(_ x: Double, _ y: Double) -> UInt32 {
    let shore = 0.66
    if y <= shore { return mountains(x, y) }
    // The water mirrors the landscape, with waves.
    let mirrored = shore - (y - shore) * 0.9 + 0.006 * sin(y * 420 + 9 * sin(x * 11))
    return blend(mountains(x, max(0, mirrored)), 0x12324a, 0.35 + (y - shore))
}

private func mountains(_ x: Double, _ y: Double) -> UInt32 {
    let ridge = 0.42 + 0.10 * sin(x * 5.1 + 1) + 0.05 * sin(x * 13.7) + 0.015 * sin(x * 47) + 0.006 * sin(x * 131)
    let hills = 0.56 + 0.04 * sin(x * 7.3 + 2) + 0.01 * sin(x * 61)
    let grain = sin(x * 911 + y * 1377) * sin(x * 1723 - y * 757)
    if y > hills { return shaded(0x2c5a34, 1 - (y - hills) * 2 + 0.18 * grain) }
    if y > ridge {
        let snow = max(0, 1 - (y - ridge) * 16 + 0.3 * grain)
        return blend(shaded(0x6b7480, 1 + 0.14 * grain - (y - ridge)), 0xf4f7fb, min(1, snow))
    }
    let distance = ((x - 0.72) * (x - 0.72) + (y - 0.16) * (y - 0.16)).squareRoot()
    let sky = blend(0x3f7fc4, 0xf6d9b0, min(1, y * 1.9))
    return blend(sky, 0xfff6d8, distance < 0.05 ? 1 : max(0, 0.6 - distance * 2.2))
}

func rgb(_ red: Int, _ green: Int, _ blue: Int) -> UInt32 {
    UInt32(UInt8(clamping: red)) << 16 | UInt32(UInt8(clamping: green)) << 8 | UInt32(UInt8(clamping: blue))
}

/// `one` at amount 0, `other` at amount 1.
func blend(_ one: UInt32, _ other: UInt32, _ amount: Double) -> UInt32 {
    let share = Int(max(0, min(1, amount)) * 256)
    func channel(_ shift: UInt32) -> Int {
        (Int(one >> shift & 255) * (256 - share) + Int(other >> shift & 255) * share) >> 8
    }
    return rgb(channel(16), channel(8), channel(0))
}

func shaded(_ colour: UInt32, _ brightness: Double) -> UInt32 {
    func channel(_ shift: UInt32) -> Int { Int(Double(colour >> shift & 255) * brightness) }
    return rgb(channel(16), channel(8), channel(0))
}
