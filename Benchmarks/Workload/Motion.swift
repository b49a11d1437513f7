import Glibc
import Posix
import Time

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
    let frames = try film(of: count, width: place.width, height: place.height, on: screen)
    var index = 0
    pace.restart()
    repeat {
        screen.window.copy(from: frames[index], 0, 0, place.width, place.height, toX: place.x, toY: place.y)
        try screen.flush()
        index = (index + 1) % count
    } while pace.wait()
}

/// The film at 20 frames a second with a number strip in the corner, which counts them. Prints `NUMBER NANOSECONDS` as the counter
/// does.
///
/// - Parameter font: of a page of text in the right half of the screen; nil for the film alone.
func drawFilm(besideTextIn font: SmoothFont? = nil, on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    let width = font == nil ? screen.width : screen.width / 2
    let frames = try film(of: 20, width: width, height: screen.height, on: screen)
    if let font {
        var text = ProgramText()
        let page = smoothPage(1, of: &text, in: font, width: screen.width, height: screen.height)
        screen.window.paint(0, 0, page.width, page.height) { page[$0, $1] }
    }
    let strip = NumberStrip(screenWidth: screen.width)
    let picture = screen.makePixmap(width: screen.width, height: screen.height)
    var number: UInt32 = 0
    pace.restart()
    repeat {
        let frame = frames[Int(number) % frames.count]
        picture.copy(from: frame, 0, 0, width, screen.height, toX: 0, toY: 0)
        strip.draw(number, on: picture, x: 0, y: 0)
        try screen.synchronize()
        let asked: Instant = MonotonicClock.now()
        screen.window.copy(from: picture, 0, 0, width, screen.height, toX: 0, toY: 0)
        try screen.synchronize()
        printLine("\(number) \(asked.nanoseconds)")
        number &+= 1
    } while pace.wait()
}

private func film(of count: Int, width: Int, height: Int, on screen: Screen) throws(WorkloadError) -> [Canvas] {
    var frames: [Canvas] = []
    for index in 0..<count {
        let frame = screen.makePixmap(width: width, height: height)
        let film = Film(phase: 2 * .pi * Double(index) / Double(count), width: width, height: height)
        frame.paint(0, 0, width, height, film.colour)
        try screen.synchronize()
        frames.append(frame)
    }
    return frames
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
