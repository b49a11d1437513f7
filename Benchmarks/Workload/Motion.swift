import Glibc

/// A film without end in which every pixel changes: clouds of light that move through each other.
///
/// All its pictures are sent beforehand, so that playing costs the machine one copy a frame.
func drawMotion(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    try play(Desktop.Frame(x: 0, y: 0, width: screen.width, height: screen.height), on: screen, &pace)
}

/// The film in a window of a quarter of the screen, on a still desktop.
func drawWindow(on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    try screen.show(Desktop(on: screen).picture)
    let place = Desktop.Frame(
        x: screen.width * 3 / 10,
        y: screen.height * 3 / 10,
        width: screen.width / 2,
        height: screen.height / 2
    )
    try play(place, on: screen, &pace)
}

/// Plays the film at a place of the window.
func play(_ place: Desktop.Frame, on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let bytes = screen.format.bytesPerRow(place.width) * place.height
    let count = max(4, min(30, 250_000_000 / bytes))
    var frames: [Canvas] = []
    for index in 0..<count {
        let frame = screen.makePixmap(width: place.width, height: place.height)
        let film = Film(phase: 2 * .pi * Double(index) / Double(count), width: place.width, height: place.height)
        frame.paint(0, 0, place.width, place.height, film.colour)
        try screen.synchronize()
        frames.append(frame)
    }
    var index = 0
    pace.restart()
    repeat {
        screen.window.copy(from: frames[index], 0, 0, place.width, place.height, toX: place.x, toY: place.y)
        try screen.flush()
        index = (index + 1) % count
    } while pace.wait()
}

/// One picture of the film. Each row and column is worked out once; a pixel is a sum of them.
private struct Film {
    private let rowA: [Int]
    private let rowB: [Int]
    private let columnA: [Int]
    private let columnB: [Int]
    private let diagonal: [Int]

    init(phase: Double, width: Int, height: Int) {
        func wave(_ count: Int, _ length: Double, _ shift: Double, _ height: Double) -> [Int] {
            (0..<count).map { Int(height * sin(Double($0) / length + shift)) }
        }
        let scale = Double(width) / 1280
        columnA = wave(width, 97 * scale, phase, 60)
        columnB = wave(width, 41 * scale, -2 * phase, 34)
        rowA = wave(height, 71 * scale, phase + 1, 60)
        rowB = wave(height, 53 * scale, 2 * phase + 2, 34)
        diagonal = wave(width + height, 29 * scale, 3 * phase, 22)
    }

    func colour(_ x: Int, _ y: Int) -> UInt32 {
        let texture = (x &* 7919 ^ y &* 104_729) >> 3 & 7
        let first = columnA[x] + rowA[y]
        let second = columnB[x] + rowB[y] + diagonal[x + y]
        return rgb(
            124 + first + second / 2 + texture,
            112 + second + first / 3 + texture,
            140 - first / 2 + second + texture
        )
    }
}
