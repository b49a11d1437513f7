import Posix
import TestSupport
import Time

/// Shows pictures from PNG files, one at each beat, unscaled, from the top left corner on. Prints `NUMBER NANOSECONDS`
/// for each, the instant of the monotonic clock just before the request.
func showPictures(_ paths: [String], on screen: Screen, _ pace: inout Pace) throws(WorkloadError) {
    var pictures: [Canvas] = []
    for path in paths {
        let file: GalleryPicture
        do { file = try GalleryPicture(file: path) } catch { throw .unreadablePicture(path) }
        let picture = screen.makePixmap(width: screen.width, height: screen.height)
        picture.fill(0)
        picture.paint(0, 0, min(file.width, screen.width), min(file.height, screen.height), file.colour)
        try screen.synchronize()
        pictures.append(picture)
    }
    var number = 0
    pace.restart()
    repeat {
        let asked: Instant = MonotonicClock.now()
        try screen.show(pictures[number % pictures.count])
        printLine("\(number) \(asked.nanoseconds)")
        number += 1
    } while pace.wait()
}
