import Media

/// What a sound process keeps for one that comes later.
struct SoundBequest: Codable {
    let wish: SoundWish
    let mute: SoundMute
}
