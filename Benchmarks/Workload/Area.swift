/// A still desktop. A share of the screen, of its shape and in its middle, shows another part of the film at every
/// beat.
func drawArea(_ share: Double, on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    try screen.show(Desktop(on: screen).picture)
    let width = max(1, Int(Double(screen.width) * share.squareRoot()))
    let height = max(1, Int(Double(screen.height) * share.squareRoot()))
    let place = Desktop.Frame(
        x: (screen.width - width) / 2,
        y: (screen.height - height) / 2,
        width: width,
        height: height
    )
    try play(place, on: screen, &pace)
}
