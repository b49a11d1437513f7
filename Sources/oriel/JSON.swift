import Sender

/// Machine-readable output: one line, which commands no terminal.
func json(_ value: some Encodable) throws -> String { try value.jsonLine().escapingControlsOfJSON() }
