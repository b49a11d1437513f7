/// Why a recorder does not do what it is asked for. Programs get the raw value.
package enum RecorderRefusal: String, Codable, Error, Equatable {
    case recordsAll = "records_all"
    case keepsNothing = "keeps_nothing"
    case paused, off, empty, busy
    /// The settings are no longer those that are to be changed.
    case changed
    /// A field is out of its range.
    case field
    case unwritable
    /// Asked for again too soon.
    case tooOften = "too_often"
    /// A sender may not ask for it.
    case forbidden

    /// A sentence without a full stop.
    package var reason: String {
        switch self {
        case .recordsAll: "this recorder writes everything: start one with --replay or --on-change"
        case .keepsNothing: "this recorder keeps nothing for a replay: start one with --replay"
        case .paused: "recording is paused: give \"oriel record resume\" first"
        case .off: "recording is switched off: give \"oriel record on\" first"
        case .empty: "there is no picture yet"
        case .busy: "a clip is being written: try again when it has ended"
        case .changed: "the settings have changed meanwhile: read them again"
        case .field: "a setting is out of its range"
        case .unwritable: "it cannot be written"
        case .tooOften: "that was asked for just now: try again in ten seconds"
        case .forbidden: "a viewer may not ask for that"
        }
    }
}
