import Sender

/// Machine-readable output: one line of JSON without control characters, which a terminal would obey.
func json(_ value: some Encodable) throws -> String { try value.jsonLine().escapingControlsOfJSON() }
