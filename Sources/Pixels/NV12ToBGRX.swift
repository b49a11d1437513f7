internal import CYUV

/// Writes a picture as pixels of bytes blue, green, red and 255, from BT.601, limited range, for an X server.
///
/// - Parameters:
///   - picture: in even size.
///   - bytes: four for each pixel, row after row without padding.
package func convertToBGRX(_ picture: borrowing NV12Picture, into bytes: inout [UInt8]) {
    let (size, planes) = (picture.size, picture.planes)
    precondition(bytes.count == 4 * size.width * size.height)
    oriel_nv12_to_bgrx(
        planes.luma.start,
        Int32(planes.luma.stride),
        planes.chroma.start,
        Int32(planes.chroma.stride),
        &bytes,
        Int32(4 * size.width),
        Int32(size.width),
        Int32(size.height)
    )
}
