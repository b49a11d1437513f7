package import Configuration
package import Media
import Pixels
import Sender

extension VideoSettings {
    /// The renditions that may be encoded; the first one is for receivers that cannot choose.
    package func renditions(fps: Int) -> [Rendition] {
        let codecs = codec.codecs.flatMap(\.self)
        return (0..<renditions * codecs.count).map { number in
            Rendition(
                id: Rendition.ID(number),
                codec: codecs[number % codecs.count],
                rung: number / codecs.count,
                width: size.width,
                height: size.height,
                framesPerSecond: fps,
                bitrate: bitrate.bitsPerSecond
            )
        }
    }

    /// How far keyframes may be apart for receivers that cannot ask for one, if the command line says nothing; nil if it does.
    var plainKeyframeInterval: Duration? { keyframeInterval == nil ? .seconds(5) : nil }

    func sender(wakesEarly: Bool) -> SenderSettings {
        let interval = keyframeInterval.flatMap { $0 == 0 ? nil : Duration.seconds($0) }
        var settings = SenderSettings(wakesEarly: wakesEarly, keyframeInterval: interval)
        settings.vp8Profile = vp8Profile
        settings.allowsPatches = patches
        return settings
    }
}
