import HTTP
import SocketIO

extension EngineMessage {
    init(_ message: WebSocketMessage) {
        switch message {
        case .text(let bytes): self = .text(bytes)
        case .binary(let bytes): self = .binary(bytes)
        }
    }
}

extension WebSocketMessage {
    init(_ message: EngineMessage) {
        switch message {
        case .text(let bytes): self = .text(bytes)
        case .binary(let bytes): self = .binary(bytes)
        }
    }
}
