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

    /// A sentence without a full stop, for viewers.
    package var fact: String {
        switch self {
        case .recordsAll: "this recorder writes everything"
        case .keepsNothing: "this recorder keeps nothing for a replay"
        case .paused: "recording is paused"
        case .off: "recording is switched off"
        case .empty: "there is no picture yet"
        case .busy: "a clip is being written: try again when it has ended"
        case .changed: "the settings have changed meanwhile: read them again"
        case .field: "a number is out of its range"
        case .unwritable: "it cannot be written"
        case .tooOften: "that was asked for just now: try again in ten seconds"
        case .forbidden: "this recorder takes no commands of viewers"
        }
    }

    /// The same for the person at the machine, with what to do.
    package var reason: String {
        switch self {
        case .recordsAll: "\(fact): start one with --replay or --on-change"
        case .keepsNothing: "\(fact): start one with --replay"
        case .paused: "\(fact): give \"oriel record resume\" first"
        case .off: "\(fact): give \"oriel record on\" first"
        default: fact
        }
    }
}
