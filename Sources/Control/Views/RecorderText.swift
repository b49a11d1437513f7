extension RecorderSnapshot {
    package var lastPath: String? { lastFile.map { "\(folder)/\($0)" } }

    package var sentence: String {
        let whole = (muted ? "muted, " : "") + (files == 1 ? "1 file is whole" : "\(files) files are whole")
        switch state {
        case .recording:
            return "recording into \(folder)/\(file ?? "?"), \(Int(lengthS)) s, \(bytes / 1024) KiB, \(whole)"
        case .armed: return "waiting for a clip, \(whole)"
        case .blind: return "waiting for a clip by command, as one has just ended, \(whole)"
        case .waiting: return "waiting for a picture, \(whole)"
        case .paused: return "paused, \(whole)"
        case .off: return "switched off, \(whole)"
        case .blocked: return "blocked (\(problem ?? "unknown")), \(whole)"
        }
    }
}
