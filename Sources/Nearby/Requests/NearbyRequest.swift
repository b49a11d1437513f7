/// What a command asks of the nearby process: one JSON object on one line. The answers are lines, too (`NearbyReply`), until one side closes
/// the connection.
package enum NearbyRequest: Codable, Equatable, Sendable {
    package static let limit = 128 << 10

    /// All devices, and then each change.
    ///
    /// - visibility: of this device, as long as the connection is open.
    case watch(visibility: Neighbourhood.Visibility)
    /// A code, until a device has paired by it, or the connection is closed.
    ///
    /// - isPhotographed: whether it is for a camera.
    case showCode(isPhotographed: Bool)
    /// Waits for a device that shows a code.
    ///
    /// - device: its name or identity, or an address in numbers, or a link of another device.
    case find(device: String)
    /// Pairs with it.
    case pair(device: String, code: String)
    /// The file of pairs has changed.
    case reload
    /// Has it told that it is no pair any more; the file says so already.
    case unpair(pair: String)
    /// Sends a line to a pair.
    ///
    /// - pair: its identity.
    case tell(pair: String, text: String, parameters: [String: String])
    /// Sends a file to a pair. Its descriptor comes with the request.
    ///
    /// - pair: its identity.
    case sendFile(pair: String, name: String)
    /// Ends the process, unless it belongs to a share.
    case leave
}
