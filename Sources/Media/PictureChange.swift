package import Time

/// What has happened to a broadcast's picture.
package enum PictureChange: Sendable, Equatable {
    /// It is paused. This is told with each picture of the pause.
    case paused
    /// Tiles have changed; the latest of them were captured then.
    case tiles(TileChange, at: Instant)
}
