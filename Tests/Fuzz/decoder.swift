import Media
import Pixels
import VideoDecoding

/// Frames of a peer to a decoder. The input's first byte chooses the codec; each frame follows its length in two bytes.
@_cdecl("LLVMFuzzerTestOneInput")
public func fuzz(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard count > 0 else { return 0 }
    let input = Array(UnsafeBufferPointer(start: start, count: count))
    var decoder = try! VideoDecoder(VideoCodec.allCases[Int(input[0]) % VideoCodec.allCases.count])
    var picture = PlanarPicture()
    var place = 1
    while place + 2 <= count {
        let length = min(Int(input[place]) << 8 | Int(input[place + 1]), count - place - 2)
        place += 2
        do throws(VideoDecoderError) {
            if try decoder.decode(input.span.extracting(place..<place + length), into: &picture) {
                precondition(VideoDecoder.sides ~= picture.size.width && VideoDecoder.sides ~= picture.size.height)
                precondition(picture.y.count == picture.size.width * picture.size.height)
            }
        } catch {
            precondition(!"\(error)".isEmpty)
        }
        place += length
    }
    return 0
}
